"""Verification finds every row that the events do not account for, and nothing else.

Method: real runs of the core, committed to both journals; then one transition whose derived part
was tampered with before it was committed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pointsman.graph.evolve import fold
from pointsman.graph.intents import ReleaseWorkspace
from pointsman.graph.project import project
from pointsman.graph.run import Run, RunState
from pointsman.storage.journal import Journal, Transition
from pointsman.storage.verify import verify, verify_all
from tests.harness.core import RUN_ID, Process
from tests.harness.journals import a_deadline, an_item, lmdb_opener, memory_opener


@pytest.fixture(params=[memory_opener, lmdb_opener], ids=["memory", "lmdb"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    opened = request.param(tmp_path)()
    yield opened
    opened.close()


def commit(journal: Journal, process: Process, **tampered: Any) -> None:
    """Commit what the run has been through since the last time."""
    before = journal.summary(RUN_ID)
    first = before.version if before is not None else 0
    run = tampered.pop("run", process.state)
    journal.commit(
        Transition(
            run_id=RUN_ID,
            expected_sequence=first,
            fencing_token=journal.lease(RUN_ID),
            events=tuple(process.recorded[first:]),
            run=run,
            projection=project(process.state).model_copy(update=tampered),
        )
    )


def problems(journal: Journal) -> tuple[str, ...]:
    assert verify(journal, RUN_ID, fold, project) == verify_all(journal, fold, project)
    return problems_of_one(journal)


def problems_of_one(journal: Journal) -> tuple[str, ...]:
    return tuple(map(str, verify(journal, RUN_ID, fold, project)))


def test_a_real_run_is_in_order_at_every_step(journal: Journal) -> None:
    process = Process()
    steps: list[Callable[[], object]] = [
        process.launch,
        process.report,
        process.observe,
        lambda: process.run_check(1),
        process.work,
        process.run_check,
        process.decide_gate,
    ]
    for step in steps:
        commit(journal, process)
        assert problems(journal) == ()
        step()
    assert process.state.ended


def test_a_run_that_is_not_there_has_no_events(journal: Journal) -> None:
    assert problems_of_one(journal) == (f"{RUN_ID}: it has no events",)
    assert verify_all(journal, fold, project) == ()


def _other(run: Run) -> Run:
    return run.model_copy(update={"started_by": "somebody else"})


@pytest.mark.parametrize(
    "name, tamper",
    [
        ("checkpoint", lambda process: {"run": _other(process.state)}),
        ("outbox", lambda _: {"outbox": ()}),
        (
            "outbox",
            lambda process: {
                "outbox": (
                    *project(process.state).outbox,
                    ReleaseWorkspace(intent_id="stray", run_id=RUN_ID, workspace_key="key"),
                )
            },
        ),
        ("deadlines", lambda _: {"deadlines": (a_deadline(RUN_ID, 5),)}),
        ("attention items", lambda _: {"attention": (an_item(RUN_ID, 5),)}),
        (
            "summary",
            lambda process: {
                "summary": project(process.state).summary.model_copy(
                    update={"state": RunState.FAILED}
                )
            },
        ),
    ],
)
def test_a_row_that_the_events_do_not_account_for_is_named(
    journal: Journal, name: str, tamper: Callable[[Process], dict[str, Any]]
) -> None:
    process = Process()
    commit(journal, process, **tamper(process))
    assert f"{RUN_ID}: the {name} stored is not what its events give" in problems(journal)
