"""Goal: each documented view answers its question rightly.

Method: four runs are told by hand, second by second, so that every answer can be counted by hand.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from pointsman.storage.history.history import History
from pointsman.storage.history.views import VIEWS
from tests.harness.history import Rows, rows
from tests.harness.history_story import RUNS, START_MS, told_by_hand

AGAIN, _, _, REVIEWED = RUNS
START: Final = datetime.fromtimestamp(START_MS / 1000, UTC).replace(tzinfo=None)
ANSWERS: Final[dict[str, Rows]] = {
    "time_per_node": [
        ("change", "implement", "agent", 3, 60 + 30 + 30, 30, 60),
        ("change", "tests", "check", 3, 30 + 30 + 20, 30, 30),
        ("change", "verdict", "decision", 3, 0, 0, 0),
        ("change", "approve", "gate", 1, 200, 200, 200),
        ("change", "done", "end", 1, 0, 0, 0),
        ("reviewed", "work", "agent", 1, 20, 20, 20),
        ("reviewed", "reviewers", "parallel", 1, 60, 60, 60),
    ],
    "rework_rate": [("change", 3, 1, 4 + 2 + 1, 2, 2 / 7), ("reviewed", 1, 0, 1, 0, 0)],
    "reviewer_verdicts": [
        ("reviewed", "reviewers", "code", "code-review", 1, 1, 0, 0, 0),
        ("reviewed", "reviewers", "security", "code-review", 1, 0, 1, 0, 0),
    ],
    "slowest_gates": [("change", "approve", 1, 1, 200, 200)],
    "unresolved_reasons": [
        ("change", "implement", "launch_refused", 2, 1),
        ("reviewed", "review", "review_failed", 1, 1),
    ],
    "flaky_checks": [("change", "tests", 1, 1, 1)],
    "attention_by_kind": [
        ("awaiting_review", 1, START + timedelta(seconds=50), 1, 200),
        ("unresolved", 2, START + timedelta(seconds=50), 1, 30),
    ],
    "routes_per_decision": [
        ("change", None, "entry", "entry", "implement", 3, 1),
        ("change", "implement", "implement/next", "next", "tests", 3, 1),
        ("change", "tests", "tests/next", "next", "verdict", 3, 1),
        ("change", "verdict", "verdict/rules/0", "rule", "implement", 1, 1 / 3),
        ("change", "verdict", "verdict/otherwise", "otherwise", "approve", 2, 2 / 3),
        ("change", "approve", "approve/decisions/approve", "decision", "done", 1, 1),
        ("reviewed", None, "entry", "entry", "work", 1, 1),
        ("reviewed", "work", "work/next", "next", "reviewers", 1, 1),
        ("reviewed", "reviewers", "reviewers/join", "join", "review", 1, 1),
    ],
    "reports_by_outcome": [
        ("change", "implement", "completed", 2),
        ("change", "implement", "blocked", 1),
        ("reviewed", "work", "completed", 1),
        ("reviewed", "reviewers", "completed", 1),
        ("reviewed", "reviewers", "failed", 1),
    ],
    "report_fields": [
        (AGAIN, f"{AGAIN}.implement.1.1", "risk", "high", None, None),
        (AGAIN, f"{AGAIN}.implement.2.1", "risk", "low", None, None),
        (REVIEWED, f"{REVIEWED}.work.1.1", "sure", None, None, True),
        (REVIEWED, f"{REVIEWED}.reviewers.1.code.1", "blockers", None, 0, None),
        (REVIEWED, f"{REVIEWED}.reviewers.1.security.1", "blockers", None, 2, None),
    ],
}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    made = History.open(tmp_path_factory.mktemp("history") / "history.duckdb")
    journal = told_by_hand()
    while made.take("0", journal):
        pass
    yield made
    made.close()


@pytest.mark.parametrize("view", ANSWERS)
def test_a_view_answers_what_was_counted_by_hand(history: History, view: str) -> None:
    assert _in_order(rows(history, f"FROM {view}")) == _in_order(ANSWERS[view])


def test_no_view_is_documented_without_such_an_answer() -> None:
    assert {view.name for view in VIEWS} == set(ANSWERS)
    assert all(ANSWERS.values())


def _in_order(answer: Rows) -> Rows:
    """Return rows that compare as they should: whole numbers as fractions, and these rounded."""

    def plain(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return round(float(value), 9)

    return sorted((tuple(map(plain, row)) for row in answer), key=repr)
