"""Goal: every code has one number, one page, and the same words everywhere."""

import ast
import pickle

import pytest

from pointsman.actors.messages import Unavailable
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.runtime.problems import PROBLEMS, PointsmanError, document, page_text, refused
from tests.tidy.source_files import python_files, tree

UNAVAILABLE = ("journal_full", "mailbox_full", "busy", "no_worker", "worker_lost")


@pytest.mark.parametrize("code", [*RejectionCode, *UNAVAILABLE])
def test_every_refusal_of_a_run_is_a_known_problem(code: str) -> None:
    assert str(code) in PROBLEMS


def test_no_number_and_no_code_is_used_twice() -> None:
    numbers = [kind.number for kind in PROBLEMS.values()]
    assert len(set(numbers)) == len(numbers)
    assert all(code == kind.code for code, kind in PROBLEMS.items())


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_page_says_what_happened_what_is_safe_and_what_to_do(code: str) -> None:
    kind = PROBLEMS[code]
    page = kind.page
    assert all((page.title, page.happened, page.safe, page.next))
    text = page_text(kind.number)
    assert text is not None
    assert text.startswith(f"# {kind.number} {code}: {page.title}\n")


def test_statuses_are_errors() -> None:
    assert all(400 <= kind.status < 600 for kind in PROBLEMS.values())


def test_an_error_survives_being_carried_between_processes() -> None:
    error = PointsmanError("stale_revision", "It has moved on.", {"revision": 3})
    carried = pickle.loads(pickle.dumps(error))
    assert (carried.code, carried.message, carried.details) == (
        "stale_revision",
        "It has moved on.",
        {"revision": 3},
    )
    assert str(carried) == "It has moved on."


def test_a_code_of_a_newer_server_is_kept_and_reads_as_internal() -> None:
    error = PointsmanError("of_the_future", "Something new.")
    assert document(error)["code"] == "of_the_future"
    assert error.kind.code == "internal_error"


def test_a_runs_refusal_keeps_its_code_words_and_details() -> None:
    rejected = Rejected(
        code=RejectionCode.STALE_REVISION, message="Look again.", details={"revision": 2}
    )
    error = refused(rejected)
    assert (error.code, error.message, error.details) == (
        "stale_revision",
        "Look again.",
        {"revision": 2},
    )
    full = refused(Unavailable(code="journal_full", message="Full."))
    assert (full.code, full.kind.status) == ("journal_full", 507)


@pytest.mark.parametrize("number", ["PM9999", "", "../problems", "PM0001.md"])
def test_there_is_no_page_of_another_number(number: str) -> None:
    assert page_text(number) is None


def _raised_codes() -> set[str]:
    return {
        str(node.args[0].value)
        for path in python_files("runtime")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "PointsmanError"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def test_every_code_that_is_raised_has_its_page() -> None:
    assert _raised_codes() - set(PROBLEMS) == set()
