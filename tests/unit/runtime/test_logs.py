"""The log never stands in the way: not of work, and not of what people read."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from pointsman.runtime import logs
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.spans.span import traceparent

RUN = "r0-01hzzzzzzzzzzzzzzzzzzzzzzz"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers = root.handlers
    yield
    root.handlers = handlers
    structlog.reset_defaults()


def test_a_full_disk_loses_lines_of_the_log_and_fails_nothing() -> None:
    logs.configure(Path("/dev/full"))
    structlog.get_logger().info("run_leased", run_id="r")


def test_lines_are_json_in_a_file_of_its_owner(tmp_path: Path) -> None:
    logs.configure(tmp_path / "server.log")
    structlog.get_logger().info("run_leased", run_id="r")
    told = json.loads((tmp_path / "server.log").read_text())
    assert (told["event"], told["run_id"]) == ("run_leased", "r")
    assert (tmp_path / "server.log").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "named, told",
    [
        ({"attempt_id": f"{RUN}.work.2.1"}, (RUN, "work", f"{RUN}.work.2.1")),
        ({"intent_id": f"wf:{RUN}.work.2.1:launch"}, (RUN, "work", f"{RUN}.work.2.1")),
        ({"intent_id": f"wf:{RUN}.group.1.ux.1:launch"}, (RUN, "group", f"{RUN}.group.1.ux.1")),
        ({"intent_id": f"wf:{RUN}.group.1.ux:verify"}, (RUN, "group", None)),
        ({"intent_id": f"wf:{RUN}:primary:prepare.1"}, (RUN, None, None)),
        ({"visit_id": f"{RUN}.work.2"}, (RUN, "work", None)),
        ({"run_id": RUN}, (RUN, None, None)),
        ({"run_id": "r"}, ("r", None, None)),
        ({"error": "none of ours"}, (None, None, None)),
    ],
)
def test_an_event_names_its_run_node_and_attempt_where_one_id_tells_them(
    tmp_path: Path, named: dict[str, str], told: tuple[str | None, ...]
) -> None:
    logs.configure(tmp_path / "server.log")
    structlog.get_logger().info("intent_performed", **named)
    line = json.loads((tmp_path / "server.log").read_text())
    assert (line.get("run_id"), line.get("node"), line.get("attempt_id")) == told
    assert "trace_id" not in line


def test_with_a_collector_an_event_names_its_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    logs.configure(tmp_path / "server.log")
    structlog.get_logger().info("report_answered", attempt_id=f"{RUN}.work.2.1")
    line = json.loads((tmp_path / "server.log").read_text())
    told = f"00-{line['trace_id']}-{line['span_id']}-01"
    assert told == traceparent(f"{RUN}.work.2.1")


def test_stack_traces_of_libraries_go_to_the_log_and_not_to_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logs.configure(tmp_path / "server.log")
    try:
        raise ValueError("inside")
    except ValueError:
        logging.getLogger("library.inner").exception("It went wrong")
    assert capfd.readouterr() == ("", "")
    told = json.loads((tmp_path / "server.log").read_text())
    assert told["logger"] == "library.inner"
    assert "ValueError: inside" in told["exception"]


def test_people_may_have_text_and_less_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(logs.FORMAT_VARIABLE, "console")
    monkeypatch.setenv(logs.LEVEL_VARIABLE, "warning")
    logs.configure(tmp_path / "server.log")
    log = structlog.get_logger()
    log.info("run_leased", run_id="r")
    log.warning("worker_lost", run_id="r")
    (line,) = (tmp_path / "server.log").read_text().splitlines()
    assert "worker_lost" in line
    assert "run_id=r" in line


@pytest.mark.parametrize("variable", [logs.LEVEL_VARIABLE, logs.FORMAT_VARIABLE])
def test_a_choice_that_there_is_not_is_refused_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "loud")
    with pytest.raises(PointsmanError, match="loud") as refused:
        logs.configure(tmp_path / "server.log")
    assert refused.value.code == "config_invalid"
    assert variable in refused.value.message
