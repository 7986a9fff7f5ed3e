"""Goal: a server answers SQL over its history to programs of every kind, and stays well.

Method: a whole server with its historian; statements come over HTTP, from the client and from the
command line, some of them endless and from clients that go away.
"""

import csv
import io
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pointsman.runtime.gateway import sql
from pointsman.runtime.gateway.sql import AT_ONCE_MAX
from pointsman.runtime.problems import PROBLEMS, PointsmanError
from pointsman.storage.history.limits import Limits
from pointsman.storage.history.tables import TABLES
from tests.acceptance.test_readme import BLOCKS
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer
from tests.harness.hosts import wait_until
from tests.integration.gateway.shell import Shell

STATES = "SELECT run_id, state FROM runs"
ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range > b.range"


def asked(
    server: GatewayServer, statement: str, timeout_s: float = 60.0, **body: object
) -> httpx.Response:
    return httpx.post(
        f"{server.url}/api/sql",
        json={"statement": statement, **body},
        headers={"Authorization": f"Bearer {OPERATOR_TOKEN}"},
        timeout=timeout_s,
    )


def test_programs_get_a_line_of_json_for_each_row(server: GatewayServer, run_id: str) -> None:
    answer = asked(server, STATES)
    assert answer.headers["content-type"] == "application/jsonl"
    assert [json.loads(line) for line in answer.iter_lines()] == [
        {"run_id": run_id, "state": "running"}
    ]
    assert answer.headers["pointsman-cut"] == "false"


def test_a_statement_sees_what_was_committed_before_it_was_asked(
    server: GatewayServer, run_id: str
) -> None:
    assert server.client.sql(STATES).table.to_pylist() == [{"run_id": run_id, "state": "running"}]
    server.client.cancel(run_id, requested_by="ann", command_id="cancel")
    (row,) = server.client.sql(STATES).table.to_pylist()
    assert row["state"] != "running"


def test_spreadsheets_get_csv(server: GatewayServer, run_id: str) -> None:
    answer = asked(server, "SELECT node, number FROM visits", format="csv")
    assert list(csv.reader(io.StringIO(answer.text))) == [["node", "number"], ["implement", "1"]]


def test_arrow_and_parquet_keep_the_types(server: GatewayServer, run_id: str) -> None:
    statement = "SELECT run_id, started_at, 1.5::DOUBLE AS number FROM runs"
    with pa.ipc.open_stream(asked(server, statement, format="arrow").content) as reader:
        table = reader.read_all()
    assert [str(each) for each in table.schema.types[1:]] == ["timestamp[us]", "double"]
    parquet = pq.read_table(io.BytesIO(asked(server, statement, format="parquet").content))
    assert parquet.to_pylist() == table.to_pylist()


def test_an_answer_that_is_cut_says_so(server: GatewayServer) -> None:
    answer = asked(server, "FROM range(10)", rows_max=3)
    assert len(answer.text.splitlines()) == 3
    assert answer.headers["pointsman-cut"] == "true"
    assert server.client.sql("FROM range(10)", rows_max=3).cut


@pytest.mark.parametrize(
    "statement, code",
    [
        ("DROP TABLE runs", "sql_refused"),
        ("SELECT 1; SELECT 2", "sql_refused"),
        ("SELECT * FROM read_csv('/etc/passwd')", "sql_refused"),
        ("SELEC", "sql_failed"),
        ("SELECT 1/'x'::INT", "sql_failed"),
    ],
)
def test_what_is_not_answered_is_a_problem_with_its_code(
    server: GatewayServer, run_id: str, statement: str, code: str
) -> None:
    answer = asked(server, statement)
    assert answer.status_code == PROBLEMS[code].status
    assert answer.json()["code"] == code
    assert answer.json()["next"]
    assert server.client.sql(STATES).table.num_rows == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"statement": 1},
        {"statement": "FROM runs", "rows_max": 0},
        {"statement": "FROM runs", "rows_max": 10**9},
        {"statement": "FROM runs", "format": "xml"},
        {"statement": "x" * 200_000},
        {"statement": "FROM runs", "more": 1},
    ],
)
def test_a_body_of_another_shape_is_refused(server: GatewayServer, body: object) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
    answer = httpx.post(f"{server.url}/api/sql", json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")


def test_nobody_asks_without_the_operators_token(server: GatewayServer) -> None:
    for path in ("sql", "history/export", "history/rebuild"):
        answer = httpx.post(f"{server.url}/api/{path}", json={"statement": STATES})
        assert answer.json()["code"] == "unauthorized"


def test_more_statements_than_fit_are_refused_until_their_clients_go(
    server: GatewayServer, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By themselves they would not end while anybody waits here.
    monkeypatch.setattr(sql, "Limits", partial(Limits, seconds_max=3_600.0))

    def is_busy() -> bool:
        return asked(server, "SELECT 1").status_code == PROBLEMS["sql_busy"].status

    with _endless(server, AT_ONCE_MAX):
        wait_until(is_busy)
        assert server.client.run(run_id).run_id == run_id, "all else is answered"
    wait_until(lambda: not is_busy())
    assert server.client.sql(STATES).table.num_rows == 1


@contextmanager
def _endless(server: GatewayServer, count: int) -> Iterator[None]:
    """Have statements without an end asked by clients that go away when the block ends."""
    request = json.dumps({"statement": ENDLESS}).encode()
    head = (
        f"POST /api/sql HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {OPERATOR_TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(request)}\r\n\r\n"
    )
    address = urlsplit(server.url)
    with ExitStack() as undo:
        for _ in range(count):
            client = socket.create_connection((address.hostname, address.port))
            undo.callback(client.close)
            client.sendall(head.encode() + request)
        yield


def test_the_client_has_all_tables_written_and_the_history_made_again(
    server: GatewayServer, run_id: str, tmp_path: Path
) -> None:
    before = server.client.sql("FROM events ORDER BY sequence").table
    server.client.rebuild_history()
    again = server.client.sql("FROM events ORDER BY sequence").table
    assert again.slice(0, before.num_rows).equals(before)
    names = server.client.export_history(tmp_path / "parquet")
    assert names == [each.name for each in TABLES]
    assert pq.read_table(tmp_path / "parquet" / "runs")["run_id"].to_pylist() == [run_id]


def test_an_export_needs_a_folder_of_its_own_with_an_absolute_path(
    server: GatewayServer, tmp_path: Path
) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
    told = httpx.post(f"{server.url}/api/history/export", json={"folder": "."}, headers=headers)
    assert "absolute" in told.json()["detail"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(PointsmanError, match="other files") as refused:
        server.client.export_history(tmp_path / "mine")
    assert refused.value.code == "history_refused"


def test_the_command_line_asks_the_server_that_has_the_history(
    shell: Shell, server: GatewayServer, run_id: str, tmp_path: Path
) -> None:
    assert shell("sql", STATES, "--format", "csv") == 0
    assert f"{run_id},running" in shell.out
    assert not (tmp_path / "data" / "history").exists(), "the server's is asked"
    assert shell("sql", "DROP TABLE runs") == 2
    assert "sql_refused" in shell.err
    assert shell("history", "rebuild") == 0
    assert shell("history", "export", str(tmp_path / "parquet")) == 0
    assert (tmp_path / "parquet" / "runs").is_dir()


def test_a_server_goes_on_with_the_history_of_the_one_before(
    server: GatewayServer, run_id: str
) -> None:
    before = server.client.sql("SELECT count(*) AS n FROM events").table.to_pylist()[0]["n"]
    server.restart()
    after = server.client.sql("SELECT count(*) AS n FROM events").table.to_pylist()[0]["n"]
    assert after >= before > 0


def test_the_readmes_program_asks_the_running_server(
    shell: Shell,
    run_id: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (program,) = [block.text for block in BLOCKS if block.kind == "python"]
    monkeypatch.setenv("POINTSMAN_DATA", str(shell.data))
    exec(program, {})
    assert "'node': 'implement'" in capsys.readouterr().out
