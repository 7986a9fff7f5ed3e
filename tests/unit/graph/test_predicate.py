"""Typed conditions: what holds, what absence does, and what the trace keeps."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pointsman.graph.conditions import AllOf, AnyOf, Condition, FieldTest
from pointsman.graph.definition import FieldDeclaration
from pointsman.graph.model import JsonScalar
from pointsman.graph.predicate import (
    TRACE_CHARS_MAX,
    ConsideredRule,
    count_problems,
    depth_problems,
    evaluate,
    type_problems,
)

CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)


def condition(**keys: object) -> Condition:
    return CONDITION.validate_json(json.dumps(keys))


def holds(value: JsonScalar | None, **operator: object) -> bool:
    return evaluate(condition(field="f", **operator), lambda _: value).holds


@pytest.mark.parametrize(
    "value,operator,expected",
    [
        (1, {"eq": 1}, True),
        (1, {"eq": 1.0}, True),
        (1, {"eq": True}, False),
        (True, {"eq": 1}, False),
        (True, {"eq": True}, True),
        (0, {"ne": False}, True),
        ("1", {"eq": 1}, False),
        ("a", {"eq": "A"}, False),
        ("é", {"eq": "e\u0301"}, False),
        ("a", {"ne": "b"}, True),
        (2**53 - 1, {"eq": float(2**53 - 2)}, False),
        (1, {"in": [2, 1.0]}, True),
        (True, {"in": [1]}, False),
        ("b", {"in": ["a", "b"]}, True),
        (1, {"lt": 1}, False),
        (1, {"le": 1.0}, True),
        (1.5, {"gt": 1}, True),
        (1, {"ge": 2}, False),
        (True, {"ge": 0}, False),
        ("2", {"ge": 1}, False),
        (0, {"present": True}, True),
        (False, {"present": True}, True),
        ("", {"absent": True}, False),
    ],
)
def test_a_comparison_is_typed(
    value: JsonScalar, operator: dict[str, object], expected: bool
) -> None:
    assert holds(value, **operator) is expected


@pytest.mark.parametrize(
    "operator",
    [{"eq": 1}, {"ne": 1}, {"in": [1]}, {"lt": 1}, {"le": 1}, {"gt": 1}, {"ge": 1}],
)
def test_a_missing_value_makes_every_comparison_false(operator: dict[str, object]) -> None:
    assert not holds(None, **operator)


def test_only_present_and_absent_look_at_absence() -> None:
    assert holds(None, absent=True)
    assert not holds(None, present=True)


def test_groups_nest_and_every_term_is_recorded_without_short_circuit() -> None:
    values: dict[str, JsonScalar] = {"a": 1, "b": "x"}
    nested = condition(
        any=[
            {"field": "a", "eq": 1},
            {"all": [{"field": "b", "eq": "y"}, {"field": "c", "absent": True}]},
        ]
    )
    found = evaluate(nested, values.get)
    assert found.holds
    assert [(term.field, term.value, term.holds) for term in found.terms] == [
        ("a", 1, True),
        ("b", "x", False),
        ("c", None, True),
    ]


def test_the_trace_survives_json_with_its_types() -> None:
    found = evaluate(condition(field="f", **{"in": [1, 1.0, True, "1"]}), lambda _: 1.0)
    rule = ConsideredRule(name="r", holds=found.holds, terms=found.terms)
    again = ConsideredRule.model_validate_json(rule.model_dump_json())
    assert again == rule
    assert [type(member) for member in again.terms[0].operand] == [int, float, bool, str]  # type: ignore[union-attr]
    assert type(again.terms[0].value) is float


def test_the_trace_cuts_long_texts_but_the_comparison_does_not() -> None:
    long = "a" * 5_000
    found = evaluate(condition(field="f", eq=long), lambda _: long)
    assert found.holds
    assert found.terms[0].value == found.terms[0].operand == "a" * (TRACE_CHARS_MAX - 1) + "…"
    assert not evaluate(condition(field="f", eq=long), lambda _: long + "b").holds


@pytest.mark.parametrize(
    "declaration,operator,code",
    [
        ({"type": "number"}, {"eq": "1"}, "operand_type"),
        ({"type": "number"}, {"eq": True}, "operand_type"),
        ({"type": "number"}, {"in": [1, "2"]}, "operand_type"),
        ({"type": "boolean"}, {"eq": 1}, "operand_type"),
        ({"type": "boolean"}, {"eq": "true"}, "operand_type"),
        ({"type": "string"}, {"eq": 1}, "operand_type"),
        ({"type": "string"}, {"lt": 1}, "operator_type"),
        ({"type": "boolean"}, {"ge": 1}, "operator_type"),
        ({"type": "enum", "values": ["a", "b"]}, {"eq": "c"}, "operand_not_a_value"),
        ({"type": "enum", "values": ["a", "b"]}, {"ne": 1}, "operand_type"),
        ({"type": "enum", "values": ["a", "b"]}, {"in": ["a", "c"]}, "operand_not_a_value"),
    ],
)
def test_an_operand_of_another_type_is_a_problem(
    declaration: dict[str, object], operator: dict[str, object], code: str
) -> None:
    declared = FieldDeclaration.model_validate_json(json.dumps(declaration))
    test = condition(field="f", **operator)
    assert isinstance(test, FieldTest)
    assert [problem.code for problem in type_problems(test, declared, ())] == [code]


def nested(depth: int) -> Condition:
    innermost: Condition = FieldTest(field="f", eq=1)
    for _ in range(depth):
        innermost = AllOf(all=(innermost,))
    return innermost


def test_eight_groups_may_stand_around_a_term_and_nine_may_not() -> None:
    assert depth_problems(nested(8), ()) == []
    assert [problem.code for problem in depth_problems(nested(9), ())] == ["too_deep"]


def test_a_decision_may_have_128_terms_and_not_one_more() -> None:
    term = FieldTest(field="f", eq=1)
    half = AnyOf(any=(term,) * 64)
    assert count_problems((half, half), ()) == []
    assert [each.code for each in count_problems((half, half, term), ())] == ["too_many_terms"]


SCALARS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
)
TESTS = st.one_of(
    st.builds(FieldTest, field=st.sampled_from("abc"), eq=SCALARS),
    st.builds(FieldTest, field=st.sampled_from("abc"), ne=SCALARS),
    st.builds(FieldTest, field=st.sampled_from("abc"), lt=st.integers()),
    st.builds(FieldTest, field=st.sampled_from("abc"), present=st.just(True)),
    st.builds(
        lambda members: FieldTest(field="a", in_=tuple(members)),
        st.lists(SCALARS, min_size=1, max_size=3),
    ),
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.builds(lambda parts: AllOf(all=tuple(parts)), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: AnyOf(any=tuple(parts)), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)


@given(CONDITIONS, st.dictionaries(st.sampled_from("abc"), SCALARS))
def test_evaluation_is_total_and_repeatable(
    given_condition: Condition, values: dict[str, JsonScalar]
) -> None:
    found = evaluate(given_condition, values.get)
    assert found == evaluate(given_condition, values.get)
    assert len(found.terms) >= 1
