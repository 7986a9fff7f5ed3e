"""``verify``: one line a problem, each with what to do; nothing is changed."""

from pointsman.runtime.care import verification
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.exit_codes import ExitCode


def verify(call: Invocation) -> int:
    """Verify the journal, with or without a server at work on it."""
    runs, problems = verification.verify_data(call.data)
    if call.terminal.json:
        call.terminal.document(
            {
                "runs": runs,
                "problems": [
                    {"subject": each.subject, "problem": each.problem, "next": each.next}
                    for each in problems
                ],
            }
        )
    else:
        for each in problems:
            place = "" if each.subject is None else f"{each.subject}: "
            call.terminal.show(f"{place}{each.problem}; {each.next}")
        what = "in order" if not problems else f"{len(problems)} problems"
        call.terminal.say(f"{runs} runs in {call.data.path}: {what}.")
    return ExitCode.UNAVAILABLE if problems else ExitCode.OK
