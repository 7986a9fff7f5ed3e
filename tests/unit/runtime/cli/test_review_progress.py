"""Goal: reviewers at work are told in one clear line a step, below their group."""

import pytest

from pointsman.graph.made_up import turn
from pointsman.graph.work import HostRunStatus, NativeRequest, RequestKind, WorkPhase
from pointsman.runtime.cli.following import rests
from pointsman.runtime.cli.progress import Line, Narrator, Tone
from pointsman.runtime.cli.review_lines import values_in_words
from pointsman.runtime.views.queries import view_of
from pointsman.runtime.views.trace import trace_entry
from tests.harness.reviews import FROZEN, OTHER, ReviewProcess, reviewed


def told(process: ReviewProcess) -> list[Line]:
    narrator = Narrator()
    lines = [narrator.tell(trace_entry(each)) for each in process.recorded]
    return [line for line in lines if line is not None]


def said(process: ReviewProcess) -> list[str]:
    return [f"{line.subject} · {line.text}" for line in told(process) if line.subject]


def test_a_review_is_told_from_the_freezing_to_the_join() -> None:
    process = ReviewProcess(reviewed(("code", "ux"))).to_the_group()
    process.freeze(diff_stat=" a.py | 1 +\n 2 files changed").complete()
    process.see_head()
    lines = said(process)
    begun = lines.index(f"reviewers · frozen at {FROZEN[:8]} (base 11111111, 2 files)")
    assert lines[begun + 1 :] == [
        "  code · reviewer at work",
        "  code · reported: 0 blockers",
        "  code · completed: its work is over, its worktree is still what was frozen",
        "  ux · reviewer at work",
        "  ux · reported: 0 blockers",
        "  ux · completed: its work is over, its worktree is still what was frozen",
        "review · all 2 completed",
        "verdict · otherwise → approve",
        "approve · waits for a person: Approve the reviewed change",
    ]


def test_a_line_reads_well_in_a_log_file() -> None:
    process = ReviewProcess(reviewed(("code",))).fork().complete()
    assert "   0.0 s    code · reported: 0 blockers" in [str(line) for line in told(process)]


def test_a_reviewer_that_fails_stands_out_with_its_reason() -> None:
    process = ReviewProcess(reviewed(("code",))).fork().launch_branch("code")
    process.report_of("code")
    process.observe_branch("code")
    process.verify("code", changed=("a.py",))
    line = told(process)[-1]
    assert line.tone is Tone.BAD
    assert line.text == "failed (checkout_mismatch): tracked files were changed: a.py"


def test_an_overtaken_review_tells_both_commits() -> None:
    process = ReviewProcess(reviewed(("code",))).fork().complete()
    process.see_head(OTHER)
    lines = said(process)
    assert f"review · the change is at {OTHER[:8]}, and {FROZEN[:8]} was reviewed" in lines
    assert "review · stale (code completed)" in lines


def test_one_reviewer_that_waits_for_a_person_does_not_end_the_following() -> None:
    process = ReviewProcess(reviewed(("code", "ux"))).fork()
    process.launch_branch("code")
    process.launch_branch("ux")
    process.observe_branch("ux", runs=(turn(1, status=HostRunStatus.INTERRUPTED),))
    assert said(process)[-1].startswith("  ux · interrupted: ")
    assert not rests(view_of(process.state))
    question = NativeRequest(
        request_id="q", kind=RequestKind.APPROVAL, question="May I?", answerable="live"
    )
    asking = {"phase": WorkPhase.WAITING_INPUT, "pending_requests": (question,)}
    process.observe_branch("code", runs=(turn(1, status=HostRunStatus.ACTIVE),), **asking)
    assert said(process)[-1] == "  code · asks for approval: May I?"
    assert rests(view_of(process.state))


@pytest.mark.parametrize(
    "data, words",
    [
        ({"verdict": "approve", "blockers": 0}, "approve, 0 blockers"),
        ({"safe": False, "tests_added": 2.0}, "not safe, 2 tests added"),
        ({"blockers": 1, "status": 1}, "1 blocker, 1 status"),
        ({"remark": "looks good to me"}, ""),
    ],
)
def test_a_claim_is_said_in_few_words(
    data: dict[str, bool | int | float | str], words: str
) -> None:
    assert values_in_words(data) == words
