"""Goal: a fork is one transition with every identity and visit it needs, or nothing begins."""

from typing import Any

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.changes import RemoteRef, remote_ref
from pointsman.graph.edges import EdgeKind, Graph
from pointsman.graph.evolve import fold
from pointsman.graph.intents import FreezeChange, ReadHead
from pointsman.graph.owed import owed_intents
from pointsman.graph.run import RunState
from tests.harness.core import agent, code_of, field
from tests.harness.reviews import BRANCHES, FROZEN, ReviewProcess, reviewed, reviewer

GROUP: dict[str, Any] = {"kind": "parallel", "freeze": "workspace", "join": "review"}


def bounded(visits_max: int, at_limit: str | None = None, **group: Any) -> ReviewProcess:
    visits = {"max": visits_max, **({"at_limit": at_limit} if at_limit is not None else {})}
    made = {**GROUP, "branches": {each: reviewer() for each in BRANCHES}, **group}
    return ReviewProcess(reviewed(top={"visits": visits}, reviewers=made))


def freezing(**group: Any) -> ReviewProcess:
    branches = {each: reviewer() for each in BRANCHES}
    return ReviewProcess(reviewed(reviewers={**GROUP, "branches": branches, **group}))


def order_of(process: ReviewProcess) -> FreezeChange:
    order = process.intent("freeze_change")
    assert isinstance(order, FreezeChange)
    return order


def test_nothing_is_launched_before_the_fork_and_the_fork_is_one_transition() -> None:
    process = ReviewProcess().to_the_group()
    assert process.owed() == ["freeze_change"]
    before = len(process.recorded)
    process.freeze()
    events = [each.event for each in process.recorded[before:]]
    assert [each.kind for each in events] == [
        "change_frozen",
        "review_forked",
        *["attempt_started"] * 3,
    ]
    assert len({each.at_ms for each in process.recorded[before:]}) == 1


def test_every_branch_has_its_own_identities_before_anything_is_begun() -> None:
    process = ReviewProcess().fork()
    run = process.state.run_id
    for name in BRANCHES:
        branch = process.branch(name)
        assert branch.branch_id == f"{run}.reviewers.1.{name}"
        assert branch.workspace_key == f"wf:{run}.reviewers.1.{name}"
        assert process.attempt_of(name).attempt_id == f"{run}.reviewers.1.{name}.1"
    launches = {}
    for name in BRANCHES:
        process.prepare(name)
        process.verify(name)
        launches[name] = next(e for e in owed_intents(process.state) if f".{name}.1" in e.intent_id)
    assert len({each.model_dump_json() for each in launches.values()}) == 3


def test_two_reviewers_of_one_skill_are_told_apart_by_branch_and_focus() -> None:
    agents = {"provider": "scripted", "mode": "review", "skill": "code-review"}
    branches = {
        "code": reviewer(agent=agents, focus="correctness"),
        "security": reviewer(agent=agents, focus="security"),
    }
    made = reviewed(("code", "security"), reviewers={**GROUP, "branches": branches})
    process = ReviewProcess(made).fork()
    process.complete("security", blockers=3)
    process.complete("code")
    process.see_head()
    reports = process.state.results["review"].model_dump()["reports"]
    assert {name: each["data"] for name, each in reports.items()} == {
        "code": {"blockers": 0},
        "security": {"blockers": 3},
    }
    assert process.routes()[-1][2] == "work"


def test_the_fork_reserves_a_visit_for_each_branch() -> None:
    process = ReviewProcess().to_the_group()
    assert process.state.visits_used == 2, "work, and the group itself"
    process.freeze()
    assert process.state.visits_used == 5
    process.complete()
    assert process.state.visits_used == 6, "the join, and nothing more for branches"


def test_exactly_enough_visits_are_enough() -> None:
    process = bounded(5).to_the_group()
    process.freeze()
    assert process.state.visits_left == 0
    process.complete().see_head()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "visit_limit", "the decision after it is refused"


@pytest.mark.parametrize("visits_max", [2, 3, 4])
def test_too_few_visits_take_the_bounds_exit_and_nothing_is_frozen(visits_max: int) -> None:
    process = bounded(visits_max, at_limit="look").to_the_group()
    assert process.routes()[-1] == ("reviewers/branches", "visit_limit", "look")
    assert process.state.state is RunState.AWAITING_REVIEW
    assert not {"change_frozen", "review_forked", "freeze_change"} & {
        *process.kinds(),
        *process.owed(),
    }


def test_without_the_runs_exit_too_few_visits_take_that_of_the_route_to_the_group() -> None:
    again = {"to": "reviewers", "repeat": {"max": 3, "at_limit": "look"}}
    nodes = reviewed().model_dump(mode="json", exclude_none=True)["nodes"]
    nodes["verdict"]["rules"][0].update(again)
    process = ReviewProcess(reviewed(top={"visits": {"max": 10}}, **nodes)).fork()
    process.complete(blockers=1)
    process.see_head()
    assert process.routes()[-2:] == [
        ("verdict/rules/0", "rule", "reviewers"),
        ("reviewers/branches", "visit_limit", "look"),
    ]
    assert process.state.state is RunState.AWAITING_REVIEW
    assert "freeze_change" not in process.owed()


def test_too_few_visits_without_an_exit_wait_unresolved_and_nothing_is_frozen() -> None:
    process = bounded(4).to_the_group()
    assert process.state.state is RunState.UNRESOLVED
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "visit_limit"
    assert process.visit.unresolved.detail == "3 branches need a visit each; 2 of 4 are left"
    assert process.owed() == []
    assert process.actions() == [("cancel", "")]


def test_the_groups_own_unresolved_route_is_no_way_out_of_an_exhausted_bound() -> None:
    process = bounded(4, unresolved="look").to_the_group()
    assert process.state.state is RunState.UNRESOLVED
    assert process.routes()[-1][2] == "reviewers"


def test_a_group_that_the_bound_refuses_itself_is_never_entered() -> None:
    process = bounded(1, at_limit="look").to_the_group()
    assert process.routes()[-1] == ("work/next", "visit_limit", "look")


def test_a_refused_freeze_waits_with_its_reason_and_a_retry_freezes_anew_under_another_id() -> None:
    process = ReviewProcess().to_the_group()
    first = order_of(process).intent_id
    process.refuse("freeze_change", "uncommitted_changes")
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "freeze_refused"
    assert process.visit.unresolved.detail.startswith("uncommitted_changes")
    assert process.owed() == []
    assert process.actions() == [("retry", "reviewers.1"), ("cancel", "")]
    revision = process.visit.unresolved.revision
    retry = cmd.RetryVisit(visit_id=process.visit.visit_id, revision=revision, requested_by="ann")
    process.send(retry)
    assert order_of(process).intent_id != first
    assert process.state.visits_used == 3
    process.freeze()
    assert [each.branch for each in process.review.branches] == list(BRANCHES)


def test_a_freeze_nobody_can_tell_of_is_refused_like_one_that_was_refused() -> None:
    process = ReviewProcess().to_the_group()
    process.send(cmd.RecordUnknown(intent_id=order_of(process).intent_id, why="unreadable"))
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "freeze_refused"


def test_a_refused_freeze_takes_the_unresolved_route_at_once() -> None:
    process = freezing(unresolved="look").to_the_group()
    process.refuse("freeze_change")
    assert process.routes()[-1] == ("reviewers/unresolved", "unresolved", "look")
    assert process.state.reviews == {}


def test_retrying_a_freeze_is_not_offered_when_the_branches_would_not_fit_any_more() -> None:
    process = bounded(5).to_the_group()
    process.refuse("freeze_change")
    assert process.state.visits_left == 3
    assert process.actions() == [("cancel", "")], "the retry costs a visit too"
    process = bounded(6).to_the_group()
    process.refuse("freeze_change")
    assert process.actions() == [("retry", "reviewers.1"), ("cancel", "")]


def test_what_a_freeze_left_out_or_committed_is_recorded() -> None:
    process = freezing(uncommitted="ignore").to_the_group()
    assert order_of(process).uncommitted == "ignore"
    process.freeze(left_out="a.txt\nb/c.txt")
    assert process.review.left_out == ("a.txt", "b/c.txt")
    process = freezing(uncommitted="commit").to_the_group()
    assert order_of(process).uncommitted == "commit"
    process.freeze(committed=True)
    assert process.review.committed
    assert process.state.head_commit == FROZEN, "the run's own branch has moved on to it"


def test_a_freeze_that_is_answered_twice_forks_once() -> None:
    process = ReviewProcess().to_the_group()
    key = order_of(process).intent_id
    process.freeze()
    version = process.state.version
    process.send(cmd.RecordUnknown(intent_id=key, why="late"))
    assert code_of(process.last) == "not_current"
    assert process.state.version == version
    assert fold(process.recorded) == process.state


def naming(change: str, **freeze: Any) -> ReviewProcess:
    branches = {each: reviewer() for each in BRANCHES}
    group = {**GROUP, "freeze": {"input": "change", **freeze}, "branches": branches}
    inputs = {"change": field("string", required=True)}
    return ReviewProcess(reviewed(top={"inputs": inputs}, reviewers=group), change=change)


@pytest.mark.parametrize(
    "given, ref",
    [
        ("#12", "refs/pull/12/head"),
        ("pull/12", "refs/pull/12/head"),
        (" #12 ", "refs/pull/12/head"),
        ("!3", "refs/merge-requests/3/head"),
        ("refs/changes/1/2", "refs/changes/1/2"),
        ("feature/login", "refs/heads/feature/login"),
        ("#0", "refs/heads/#0"),
        ("12", "refs/heads/12"),
    ],
)
def test_an_input_names_a_change_as_people_do(given: str, ref: str) -> None:
    process = naming(given, remote="upstream").to_the_group()
    assert order_of(process).change == RemoteRef(ref=ref, remote="upstream")
    process.freeze().complete().see_head()
    assert process.state.state is RunState.AWAITING_REVIEW


def test_the_head_is_looked_for_where_the_change_was_found_when_it_was_frozen() -> None:
    process = naming("#12").to_the_group()
    assert order_of(process).change == RemoteRef(ref="refs/pull/12/head", remote=None)
    process.freeze(remote="origin").complete()
    look = process.intent("read_head")
    assert isinstance(look, ReadHead)
    assert look.change == RemoteRef(ref="refs/pull/12/head", remote="origin")


@pytest.mark.parametrize(
    "given", ["", "  ", "-x", "a..b", "a b", "a~1", "HEAD^", "x.lock", "/a", "a/", "a:b", "a" * 501]
)
def test_a_text_that_names_no_change_is_told_and_nothing_is_frozen(given: str) -> None:
    assert remote_ref(given, None) is None
    process = naming(given).to_the_group()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "freeze_refused"
    assert process.owed() == []
    assert process.actions() == [("cancel", "")], "trying again could not help"


def test_a_branch_without_its_input_makes_the_group_unresolved_and_nothing_is_frozen() -> None:
    bound = {"findings": "report.work.note"}
    work = agent("reviewers", report={"fields": {"note": field("string")}})
    branches = {"code": reviewer(inputs=bound), "ux": reviewer()}
    made = reviewed(("code", "ux"), work=work, reviewers={**GROUP, "branches": branches})
    process = ReviewProcess(made).to_the_group()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "input_missing"
    assert process.visit.unresolved.detail == "no value for findings of branch code"
    assert process.owed() == []
    assert process.state.visits_used == 2


def test_each_branch_keeps_the_inputs_it_was_forked_with() -> None:
    bound = {"note": "report.work.note", "task": "run.input.task"}
    work = agent("reviewers", report={"fields": {"note": field("string")}})
    branches = {"code": reviewer(inputs=bound), "ux": reviewer()}
    made = reviewed(("code", "ux"), work=work, reviewers={**GROUP, "branches": branches})
    process = ReviewProcess(made)
    process.work(data={"note": "look here"})
    process.freeze()
    assert process.branch("code").inputs == {"note": "look here", "task": "greet"}
    assert set(process.branch("code").references) == {"note", "task"}
    assert process.branch("ux").inputs == {}


def test_the_limit_of_a_route_to_a_group_is_an_edge_unless_the_run_has_its_own() -> None:
    again = {"to": "reviewers", "repeat": {"max": 3, "at_limit": "look"}}
    nodes = reviewed().model_dump(mode="json", exclude_none=True)["nodes"]
    nodes["verdict"]["rules"][0].update(again)
    for visits, where in (
        ({"max": 10}, ("nodes", "verdict", "rules", 0, "repeat", "at_limit")),
        ({"max": 10, "at_limit": "look"}, ("visits", "at_limit")),
    ):
        edges = Graph(reviewed(top={"visits": visits}, **nodes)).edges
        found = [
            each.where
            for each in edges
            if (each.source, each.to, each.kind) == ("reviewers", "look", EdgeKind.VISIT_LIMIT)
        ]
        assert found == [where]
