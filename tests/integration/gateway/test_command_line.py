"""Goal: the command line decides gates and lists workflows as the API does.

Method: its commands run in this process and find the harness's server as they find any other.
"""

from pathlib import Path

from tests.harness.gateway import GatewayServer
from tests.integration.gateway.shell import Shell
from tests.integration.gateway.steps import at_the_gate

REFUSED = 3
USAGE = 2


def restricted(definition: str) -> str:
    who = "title: Approve the change\n    decide: {roles: [maintainer], people: [carol]}"
    return definition.replace("title: Approve the change", who)


def test_changes_are_requested_with_comments_of_the_command_line_and_of_a_file(
    server: GatewayServer, definition: str, shell: Shell, tmp_path: Path
) -> None:
    run_id, _ = at_the_gate(server, definition)
    file = tmp_path / "comments.yaml"
    file.write_text("- {path: README.md, text: Say why.}\n")
    request = ("request-changes", run_id, "--detach")
    assert shell(*request, "--comment", "a.py:7:Why: twice?", "--comments", str(file)) == 0
    server.host.launched("implement.2.1")
    (entry,) = [e for e in server.client.trace(run_id) if e.kind == "gate_decided"]
    assert entry.data["comments"] == [
        {"path": "a.py", "line": 7, "text": "Why: twice?"},
        {"path": "README.md", "line": None, "text": "Say why."},
    ]
    assert shell("show", run_id) == 0
    assert "  a.py:7: Why: twice?\n  README.md: Say why.\n" in shell.out
    assert "(2 comments)" in shell.out
    assert shell("trace", run_id) == 0
    assert "[a.py:7: Why: twice?; README.md: Say why.] (decision)" in shell.out


def test_comments_beyond_their_bounds_are_told_and_change_nothing(
    server: GatewayServer, definition: str, shell: Shell
) -> None:
    run_id, _ = at_the_gate(server, definition)
    code = shell("request-changes", run_id, "--comment", "a.py:0:first line", "--detach", "--json")
    assert code == USAGE
    assert shell.document["code"] == "comments_invalid"
    assert server.view(run_id).state == "awaiting_review"


def test_who_may_not_decide_is_refused_and_who_may_says_so(
    server: GatewayServer, definition: str, shell: Shell
) -> None:
    run_id, _ = at_the_gate(server, restricted(definition))
    assert shell("show", run_id) == 0
    assert "decides    carol or anyone of role maintainer" in shell.out
    assert shell("attention") == 0
    assert "carol or anyone of role maintainer" in shell.out
    assert shell("approve", run_id, "--as", "bob", "--role", "guest") == REFUSED
    assert "carol or anyone of role maintainer may" in shell.err
    assert server.view(run_id).state == "awaiting_review"
    assert shell("approve", run_id, "--as", "bob", "--role", "maintainer") == 0
    (entry,) = [e for e in server.client.trace(run_id) if e.kind == "gate_decided"]
    assert (entry.data["decided_by"], entry.data["roles"]) == ("bob", ["maintainer"])


def test_a_person_who_is_named_needs_no_role(
    server: GatewayServer, definition: str, shell: Shell
) -> None:
    run_id, _ = at_the_gate(server, restricted(definition))
    assert shell("approve", run_id, "--as", "carol") == 0
    assert server.view(run_id).state == "completed"


def test_workflows_are_listed_with_the_reasons_of_those_that_cannot_run(
    server: GatewayServer, definition: str, shell: Shell, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    folder = project / ".pointsman" / "workflows"
    folder.mkdir(parents=True)
    (folder / "away.yaml").write_text(definition.replace("provider: scripted", "provider: claude"))
    (folder / "ci.yaml").write_text("on: push\njobs: {}\n")
    assert shell("workflows", "--repo", str(project)) == 0
    states = dict(line.split()[0::2][:2] for line in shell.out.splitlines()[1:3])
    assert states == {"change": "not", "ci": "broken"}
    assert "provider_unavailable: implement needs the provider claude" in shell.out
    assert "GitHub Actions" in shell.out
    assert shell("workflows", "--repo", str(project), "--json") == 0
    rows = {each["id"]: each for each in shell.document["workflows"]}
    assert (rows["change"]["runnable"], rows["ci"]["runnable"]) == (False, False)
    assert rows["change"]["not_runnable"][0]["code"] == "provider_unavailable"
    assert shell("workflows", "--repo", str(tmp_path / "nowhere")) == USAGE
