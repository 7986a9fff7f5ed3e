"""Goal: a rehearsal goes the ways a run would go, and always comes to rest.

Method: known answers with their routes, the same story told to the harness's own host, and
random answers for random definitions.
"""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.graph.answers import Told, told_problems
from pointsman.graph.definition import EndNode, GateNode, JoinNode, Node, ParallelNode, Workflow
from pointsman.graph.draw import mermaid
from pointsman.graph.explain import explain, overview
from pointsman.graph.rehearsal import Rehearsal, Unanswered, Unused, rehearse
from pointsman.graph.results import GateDecision
from pointsman.graph.run import RunState
from pointsman.graph.visited import taken, visited
from tests.harness import core
from tests.harness.definition_strategy import definitions

DONE = {"report": "completed"}


def told(**answers: list[Any]) -> Told:
    return Told.model_validate_json(json.dumps({"answers": answers}))


def play(definition: Workflow | None = None, **answers: list[Any]) -> Rehearsal:
    given_ = told(**answers).answers
    return rehearse(definition or core.workflow(), {"task": "greet"}, given_)


def lines(played: Rehearsal) -> list[str | None]:
    return [each.line for each in visited(played.run.workflow, played.recorded)]


def test_a_story_goes_the_way_the_same_run_goes() -> None:
    played = play(
        implement=[DONE, DONE, DONE],
        tests=[1, 0, 0],
        approve=["request_changes", "approve"],
    )
    run = core.Process()
    run.work().run_check(1).work().run_check(0).decide_gate(GateDecision.REQUEST_CHANGES)
    run.work().run_check(0).decide_gate()
    kinds = [each.event.kind for each in played.recorded]
    assert kinds == run.kinds()
    assert played.run.results.keys() == run.state.results.keys()
    assert (played.run.state, played.unanswered, played.unused) == (RunState.COMPLETED, None, ())


@pytest.mark.parametrize(
    "answer, reason",
    [
        ("missing", "report_missing"),
        ("failed", "work_failed"),
        ("interrupted", "interrupted"),
        ("timed_out", "timed_out"),
    ],
)
def test_work_without_a_result_is_unresolved_for_its_reason(answer: str, reason: str) -> None:
    (visit,) = visited(core.workflow(), play(implement=[answer]).recorded)
    assert visit.unresolved == reason


@pytest.mark.parametrize(
    "answer, reason",
    [
        ("timed_out", "check_timed_out"),
        ("lost", "check_interrupted"),
        ("interrupted", "check_interrupted"),
    ],
)
def test_a_check_without_an_exit_is_unresolved_for_its_reason(answer: str, reason: str) -> None:
    played = play(implement=[DONE], tests=[answer])
    assert visited(core.workflow(), played.recorded)[-1].unresolved == reason


def with_retries(max_: int) -> Workflow:
    made = core.workflow().model_dump(mode="json", by_alias=True, exclude_none=True)
    made["nodes"]["tests"]["retry"] = {"max": max_, "after": ["interrupted"]}
    return Workflow.model_validate_json(json.dumps(made))


def test_one_answer_of_a_check_stands_for_all_tries_of_its_visit() -> None:
    played = play(with_retries(2), implement=[DONE], tests=["lost"])
    assert len(played.run.visit.checks if played.run.visit else ()) == 3
    assert played.run.state is RunState.UNRESOLVED


def test_a_list_answers_each_try_of_a_check() -> None:
    played = play(with_retries(2), implement=[DONE], tests=[["lost", "lost", 0]])
    assert (played.run.state, played.unused) == (RunState.AWAITING_REVIEW, ())


def test_a_try_without_an_answer_is_named() -> None:
    played = play(with_retries(2), implement=[DONE], tests=[["lost"]])
    assert played.unanswered == Unanswered("tests", 1, 2)


def test_answers_nobody_took_are_named() -> None:
    played = play(implement=[DONE, DONE], tests=[[0, 0], 1], approve=["approve"])
    assert set(played.unused) == {Unused("implement", 2), Unused("tests", 2), Unused("tests", 1, 2)}


def test_a_walk_without_an_answer_rests_at_the_node() -> None:
    played = play()
    assert played.unanswered == Unanswered("implement", 1)
    assert play(implement=[DONE], tests=[0]).unanswered == Unanswered("approve", 1)


def test_a_gate_that_names_its_people_is_decided_by_one_of_them() -> None:
    for decide in ({"people": ["ann"]}, {"roles": ["maintainer"]}):
        made = core.workflow().model_dump(mode="json", by_alias=True, exclude_none=True)
        made["nodes"]["approve"]["decide"] = decide
        definition = Workflow.model_validate_json(json.dumps(made))
        played = play(definition, implement=[DONE], tests=[0], approve=["approve"])
        assert played.run.state is RunState.COMPLETED


def test_an_exhausted_repeat_is_told_as_such() -> None:
    played = play(implement=[DONE, DONE], tests=[1, 1])
    assert lines(played)[-2:] == ["verdict -> look (repeat_limit)", None]


def test_every_term_of_a_considered_rule_is_told_with_its_value() -> None:
    visits = visited(core.workflow(), play(implement=[DONE], tests=[3]).recorded)
    passage = next(each.passage for each in visits if each.node == "verdict")
    assert passage is not None
    (term,) = passage.considered[0].terms
    assert (term.field, term.value, term.holds) == ("check.tests.exit_code", 3, True)
    assert (passage.repeat, passage.repeat_max) == (1, 1)


def test_visits_and_routes_are_counted_for_the_drawing() -> None:
    counted = taken(play(implement=[DONE, DONE], tests=[1, 0]).recorded)
    assert counted.visits == {"implement": 2, "tests": 2, "verdict": 2, "approve": 1}
    assert counted.routes["verdict/rules/0", "implement"] == 1
    assert 'n_implement("implement<br/>scripted, edit<br/>2 visits")' in mermaid(
        core.workflow(), counted
    )


def test_routes_turned_aside_by_the_bound_on_all_visits_are_counted_apart() -> None:
    definition = core.workflow(visits={"max": 3, "at_limit": "look"})
    played = play(definition, implement=[DONE], tests=[1])
    assert lines(played)[-2:] == ["verdict -> look (visit_limit)", None]
    counted = taken(played.recorded)
    assert counted.late == 1
    assert 'limit -.->|"taken 1×"| n_look' in mermaid(definition, counted)


HEADS = ["unchanged", "stale", "unknown"]
AGENT = st.sampled_from([DONE, {"report": "failed"}, "missing", "failed", "timed_out"])
CHECK = st.sampled_from([0, 1, "timed_out", "lost", ["lost", 0], ["timed_out"]])
GATE = st.sampled_from(["approve", "approve", "request_changes", "review_again", "stale"])
WORDS = ["missing", "failed", "interrupted", "timed_out", "canceled", "wrong_checkout"]
REVIEWER = st.sampled_from([DONE, DONE, DONE, {"report": "blocked"}, *WORDS])
ANSWERS = {"agent": AGENT, "check": CHECK, "gate": GATE, "join": st.sampled_from(HEADS)}


def answers_of(node: Node) -> st.SearchStrategy[Any]:
    """Return what may be answered for a node, whether it fits all of its declarations or not."""
    if isinstance(node, ParallelNode):
        reviewers = st.fixed_dictionaries(
            dict.fromkeys(list(node.branches)[:1], REVIEWER),
            optional=dict.fromkeys(list(node.branches)[1:], REVIEWER),
        )
        return st.just("unfrozen") | reviewers | reviewers
    heads = st.sampled_from(HEADS)
    relies = not isinstance(node, JoinNode | EndNode | GateNode) and node.review is not None
    own = ANSWERS.get(node.kind, heads)
    return own | own | heads if relies else own


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(workflow=definitions(), data=st.data())
def test_any_definition_with_any_answers_comes_to_rest(workflow: Workflow, data: Any) -> None:
    assert len(explain(workflow)) == len(workflow.nodes)
    assert overview(workflow)
    assert mermaid(workflow).startswith("flowchart TD\n")
    made = {
        name: data.draw(st.lists(answers_of(node), max_size=4))
        for name, node in workflow.nodes.items()
        if node.kind != "end"
    }
    inputs: dict[str, Any] = {}
    for name, declared in workflow.inputs.items():
        values = {"boolean": True, "number": 1, "string": "x", "enum": (declared.values or "x")[0]}
        inputs[name] = values[declared.type.value]
    given_ = told(**made).answers
    unfit = {str(each.where[1]) for each in told_problems(workflow, inputs, given_)}
    fit = {name: each for name, each in given_.items() if name not in unfit}
    played = rehearse(workflow, inputs, fit)
    rests = played.run.ended or played.run.state in (
        RunState.UNRESOLVED,
        RunState.AWAITING_REVIEW,
    )
    assert rests or played.unanswered is not None
    assert played.run.visits_used >= len(visited(workflow, played.recorded))
