"""A small journal made by hand: four runs whose every second is chosen, so that sums are known."""

from typing import Final

from pointsman.graph import commands as cmd
from pointsman.graph.definition import Workflow
from pointsman.graph.run import Run
from pointsman.graph.work import CheckExited
from pointsman.storage.memory_journal import MemoryJournal
from tests.harness.core import RUN_ID, agent, field
from tests.harness.history import ToldProcess, ToldReview, commit, renamed
from tests.harness.reviews import reviewed, reviewer

# When each run starts: what is told of time is counted in seconds from here.
START_MS: Final = 1_000_007
RUNS: Final = tuple(f"{RUN_ID[:-1]}{each}" for each in "abcd")
ONE_COMMIT, OTHER_COMMIT = "a" * 40, "b" * 40


def told_by_hand() -> MemoryJournal:
    """Return a journal with all four runs."""
    journal = MemoryJournal()
    tales = (_worked_over(), _waits_at_the_gate(), _never_launched(), _reviewed())
    for run_id, tale in zip(RUNS, tales, strict=True):
        after: Run | None = None
        for events in renamed(tale.transitions, run_id):
            after = commit(journal, after, events)
    return journal


def _at(tale: ToldProcess | ToldReview, second: int) -> None:
    """Let the next command come at this second of the run."""
    tale.now_ms = START_MS - 7 + second * 1000


def _work_until(
    tale: ToldProcess | ToldReview, second: int, commit_: str, **report: object
) -> None:
    tale.launch()
    tale.report(**report)
    _at(tale, second)
    tale.observe(head_commit=commit_)


def _check_until(tale: ToldProcess, second: int, exit_code: int) -> None:
    """Start the check, which lasts from the second it was due."""
    tale.take("start_check")
    _at(tale, second)
    tale.check_state(_exited(exit_code))


def _exited(code: int) -> CheckExited:
    return CheckExited(
        exit_code=code, timed_out=False, interrupted=False, duration_s=1.0, output_tail=""
    )


def _worked_over() -> ToldProcess:
    """Work 60 s, check 30 s (red), work 30 s without a commit, check 30 s (green), wait 200 s."""
    tale = ToldProcess()
    _work_until(tale, 60, ONE_COMMIT, data={"risk": "high"})
    _check_until(tale, 90, exit_code=1)
    _work_until(tale, 120, ONE_COMMIT, data={"risk": "low"})
    _check_until(tale, 150, exit_code=0)
    _at(tale, 350)
    tale.decide_gate(note="Good.")
    return tale


def _waits_at_the_gate() -> ToldProcess:
    """Work 30 s (blocked, it says), check 20 s, and wait from second 50 on."""
    tale = ToldProcess()
    _work_until(tale, 30, OTHER_COMMIT, outcome="blocked")
    _check_until(tale, 50, exit_code=0)
    return tale


def _never_launched() -> ToldProcess:
    """Be refused at second 10, tried again at 40, refused again at 50, and wait from then on."""
    tale = ToldProcess()
    tale.take("prepare_workspace", path="/w", branch="b", head_commit=ONE_COMMIT)
    _at(tale, 10)
    tale.refuse("launch_execution")
    _at(tale, 40)
    assert tale.visit.unresolved is not None
    revision, visit_id = tale.visit.unresolved.revision, tale.visit.visit_id
    tale.send(cmd.RetryVisit(visit_id=visit_id, revision=revision, requested_by="ann"))
    _at(tale, 50)
    tale.refuse("launch_execution")
    return tale


def _with_skills() -> Workflow:
    judged = {"agent": {"provider": "scripted", "mode": "review", "skill": "code-review"}}
    names = ("code", "security")
    group = {
        "kind": "parallel",
        "freeze": "workspace",
        "branches": {each: reviewer(**judged) for each in names},
        "join": "review",
    }
    work = agent("reviewers", report={"fields": {"sure": field("boolean")}})
    return reviewed(names, top={"id": "reviewed"}, work=work, reviewers=group)


def _reviewed() -> ToldReview:
    """Work 20 s, review 60 s: one is content, the other fails; unresolved from second 100 on."""
    tale = ToldReview(_with_skills())
    _work_until(tale, 20, ONE_COMMIT, data={"sure": True})
    tale.freeze()
    tale.complete("code")
    tale.launch_branch("security")
    tale.report_of("security", blockers=2, outcome="failed")
    _at(tale, 80)
    tale.observe_branch("security")
    _at(tale, 100)
    tale.see_head()
    return tale
