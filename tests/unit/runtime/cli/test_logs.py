"""Goal: a run's output is shown to people without the receipts of its reports."""

import json

import pytest

from pointsman.runtime.cli.looking import readable

RECEIPT = {"receipt_id": "r", "attempt_id": "a"}


def test_an_accepted_report_of_the_scripted_agent_is_one_short_line() -> None:
    answer = json.dumps({"ok": True, "receipt": RECEIPT, "error": None})
    assert readable(f"report: {answer}") == "reported: accepted"


@pytest.mark.parametrize(
    "line", ['report: {"ok": false, "receipt": null}', "report: all is well", "hello"]
)
def test_what_was_refused_and_what_others_print_stays_as_it_is(line: str) -> None:
    assert readable(line) == line
