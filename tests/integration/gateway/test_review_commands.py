"""Goal: reviews on the command line: reviewers are named, and a review can be asked for again."""

from pointsman.graph.work import HostRunStatus, NativeRequest, RequestKind
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.reviewed import DATA, complete
from tests.integration.gateway.shell import Shell

REFUSED = 3
USAGE = 2
OTHER = "9" * 40


def interrupt(server: GatewayServer, run_id: str, *branches: str) -> None:
    for count, branch in enumerate(branches, start=1):
        launched = server.host.launched(f"reviewers.1.{branch}.1")
        server.host.finish(launched.attempt_id, HostRunStatus.INTERRUPTED)
        server.until(run_id, "branch_interrupted", count)


def test_with_several_interrupted_reviewers_the_one_that_is_meant_must_be_named(
    server: GatewayServer, reviewing: str, shell: Shell
) -> None:
    interrupt(server, reviewing, "code", "ux")
    assert shell("retry", reviewing, "--detach", "--json") == USAGE
    assert shell.document["code"] == "usage_invalid"
    assert shell.document["details"] == {"branches": ["code", "ux"]}
    assert "code, ux; say which: --branch NAME" in shell.document["detail"]
    assert shell("retry", reviewing, "--branch", "cod", "--detach") == USAGE
    assert "'cod'" in shell.err
    assert shell("retry", reviewing, "--branch", "ux", "--detach") == 0
    server.host.launched("reviewers.1.ux.2")
    # Only one is left now, so nobody has to say which.
    assert shell("retry", reviewing, "--detach") == 0
    server.host.launched("reviewers.1.code.2")


def test_a_question_of_one_of_several_reviewers_is_answered_by_its_name(
    server: GatewayServer, reviewing: str, shell: Shell
) -> None:
    for branch in DATA:
        question = NativeRequest(
            request_id=f"q-{branch}",
            kind=RequestKind.APPROVAL,
            question=f"May {branch} look?",
            answerable="live",
        )
        server.host.ask(server.host.launched(f"reviewers.1.{branch}.1").attempt_id, question)
    server.until(reviewing, "native_request_opened", 2)
    assert shell("answer", reviewing, "--detach") == USAGE
    assert "code, ux; say which: --branch NAME" in shell.err
    assert shell("answer", reviewing, "--branch", "ux", "--deny", "--detach") == 0
    told = server.until(reviewing, "native_request_answered")
    assert (told.data["request_id"], told.data["allow"]) == ("q-ux", False)
    server.until(reviewing, "native_request_closed")
    assert shell("answer", reviewing, "--detach") == 0


def test_attention_names_each_reviewer_with_what_to_do_about_it(
    server: GatewayServer, reviewing: str, shell: Shell
) -> None:
    interrupt(server, reviewing, "code", "ux")
    assert shell("attention") == 0
    assert "(reviewers ux, " in shell.out
    assert "--branch ux" in shell.out
    assert "--branch code" in shell.out
    assert shell("attention", "--json") == 0
    assert {each["branch"] for each in shell.document["items"]} == {"code", "ux"}


def test_a_run_is_shown_with_its_reviewers(
    server: GatewayServer, reviewing: str, shell: Shell
) -> None:
    complete(server, "code")
    server.until(reviewing, "branch_ended")
    assert shell("show", reviewing) == 0
    assert "reviewers: the head of branch pointsman/r0-" in shell.out
    rows = {line.split()[0]: line for line in shell.out.splitlines() if line.strip()}
    assert "completed: 0 blockers" in rows["code"]
    assert "as frozen after its work" in rows["code"]
    assert "working" in rows["ux"]
    assert f"ux: thread wf-{reviewing}.reviewers.1.ux.1 in /work/" in shell.out
    assert shell("show", reviewing, "--json") == 0
    review = shell.document["reviews"]["review"]
    assert [each["state"] for each in review["branches"]] == ["completed", "working"]


def test_an_overtaken_approval_says_what_to_do_and_the_review_can_be_done_again(
    server: GatewayServer, at_a_reviewed_gate: str, shell: Shell
) -> None:
    run_id = at_a_reviewed_gate
    assert shell("review-again", run_id, "--detach") == REFUSED
    server.host.head = OTHER
    assert shell("approve", run_id) == REFUSED
    assert "PM0066 review_stale" in shell.err
    assert "pointsman review-again RUN" in shell.err
    assert shell("show", run_id) == 0
    assert "the change is at 99999999: stale" in shell.out
    assert f"review-again {run_id[-8:]}" in shell.out
    assert shell("review-again", run_id, "--detach") == 0
    complete(server, *DATA, visit=2)
    server.until(run_id, "run_suspended", 2)
    assert shell("approve", run_id) == 0
    assert "completed" in shell.out.lower()


def test_the_path_of_a_run_is_drawn(
    server: GatewayServer, at_a_reviewed_gate: str, shell: Shell
) -> None:
    assert shell("graph", "--run", at_a_reviewed_gate) == 0
    assert "n_reviewers_B_code" in shell.out
    assert "taken 1×" in shell.out


def test_worktrees_are_listed_and_those_of_a_run_that_waits_are_not_pruned(
    server: GatewayServer, at_a_reviewed_gate: str, shell: Shell
) -> None:
    assert shell("workspaces") == 0
    assert "kept: its run has not ended: it is awaiting_review" in shell.out
    assert shell("workspaces", "--prune", at_a_reviewed_gate) == 0
    assert "Nothing was removed." in shell.err
    assert shell("workspaces", "nobody") == USAGE
