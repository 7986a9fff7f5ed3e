"""Typed conditions: evaluated with a trace of everything considered, and checked when authored.

A missing value makes every comparison false, ``ne`` too; only ``present`` and ``absent`` look
at absence. Strings compare exactly, numbers by value (``1`` equals ``1.0``), and a boolean is
no number. Nothing is cut short: the trace holds every term of a considered rule (§10.31).
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeGuard

from pointsman.graph import limits
from pointsman.graph.conditions import AllOf, AnyOf, Condition, FieldTest
from pointsman.graph.definition import FieldDeclaration, FieldType
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.problem import Problem, Where, listed

Operand = JsonScalar | tuple[JsonScalar, ...]

TRACE_CHARS_MAX: Final = 200
ORDERINGS: Final = frozenset({"lt", "le", "gt", "ge"})


class ConsideredTerm(Model):
    """One comparison as it was made. ``value`` is ``None`` when the field was absent.

    The comparison used the whole value; here texts are cut to ``TRACE_CHARS_MAX`` characters,
    the last of which is then an ellipsis.
    """

    field: str
    operator: str
    operand: JsonScalar | tuple[JsonScalar, ...]
    value: JsonScalar | None
    holds: bool


class ConsideredRule(Model):
    """One rule of a decision as it was considered, with each of its terms in order."""

    name: str
    holds: bool
    terms: tuple[ConsideredTerm, ...]


class Evaluation(Model):
    """Whether a condition holds, and every term that was looked at."""

    holds: bool
    terms: tuple[ConsideredTerm, ...]


def evaluate(condition: Condition, lookup: Callable[[str], JsonScalar | None]) -> Evaluation:
    """Evaluate a condition; total, and without short circuit."""
    if isinstance(condition, FieldTest):
        term = _considered(condition, lookup(condition.field))
        return Evaluation(holds=term.holds, terms=(term,))
    parts = [evaluate(part, lookup) for part in _parts(condition)]
    verdicts = [part.holds for part in parts]
    holds = all(verdicts) if isinstance(condition, AllOf) else any(verdicts)
    return Evaluation(holds=holds, terms=tuple(term for part in parts for term in part.terms))


def _parts(group: AllOf | AnyOf) -> tuple[Condition, ...]:
    return group.all if isinstance(group, AllOf) else group.any


def _considered(test: FieldTest, value: JsonScalar | None) -> ConsideredTerm:
    operand = test.operand
    cut_operand: Operand = (
        tuple(_cut(member) for member in operand) if isinstance(operand, tuple) else _cut(operand)
    )
    return ConsideredTerm(
        field=test.field,
        operator=test.operator,
        operand=cut_operand,
        value=None if value is None else _cut(value),
        holds=_holds(test.operator, operand, value),
    )


def _cut(value: JsonScalar) -> JsonScalar:
    if isinstance(value, str) and len(value) > TRACE_CHARS_MAX:
        return value[: TRACE_CHARS_MAX - 1] + "…"
    return value


def _holds(operator: str, operand: Operand, value: JsonScalar | None) -> bool:
    if operator in {"present", "absent"}:
        return (value is None) == (operator == "absent")
    if value is None:
        return False
    if isinstance(operand, tuple):
        return any(_equal(value, member) for member in operand)
    if operator in ORDERINGS:
        return _ordered(operator, value, operand)
    return _equal(value, operand) == (operator == "eq")


def _equal(left: JsonScalar, right: JsonScalar) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def _ordered(operator: str, value: JsonScalar, operand: JsonScalar) -> bool:
    if not _is_number(value) or not _is_number(operand):
        return False
    return {
        "lt": value < operand,
        "le": value <= operand,
        "gt": value > operand,
        "ge": value >= operand,
    }[operator]


def _is_number(value: JsonScalar) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def terms(condition: Condition, where: Where = ()) -> Iterator[tuple[Where, FieldTest, int]]:
    """Yield each term with its place and its depth, the number of groups around it."""
    if isinstance(condition, FieldTest):
        yield where, condition, 0
        return
    key = "all" if isinstance(condition, AllOf) else "any"
    for index, part in enumerate(_parts(condition)):
        for place, test, depth in terms(part, (*where, key, index)):
            yield place, test, depth + 1


def type_problems(test: FieldTest, declared: FieldDeclaration, where: Where) -> list[Problem]:
    """Check one term's operator and operands against the declared type of its field."""
    operator, operand = test.operator, test.operand
    if operator in {"present", "absent"}:
        return []
    if operator in ORDERINGS and declared.type is not FieldType.NUMBER:
        return [
            Problem(
                code="operator_type",
                where=(*where, operator),
                message=f"'{test.field}' is of type {declared.type}; {operator} compares numbers",
                mend="use eq, ne, in, present or absent",
            )
        ]
    members = operand if isinstance(operand, tuple) else (operand,)
    places = (
        [(*where, operator, index) for index in range(len(members))]
        if isinstance(operand, tuple)
        else [(*where, operator)]
    )
    return [
        problem
        for place, member in zip(places, members, strict=True)
        if (problem := _operand_problem(test.field, declared, place, member)) is not None
    ]


def _operand_problem(
    field: str, declared: FieldDeclaration, where: Where, operand: JsonScalar
) -> Problem | None:
    if not _is_of(declared.type, operand):
        return Problem(
            code="operand_type",
            where=where,
            message=f"'{field}' is of type {declared.type}, which {_cut(operand)!r} is not",
            mend=f"write {_EXAMPLES[declared.type]}",
        )
    values = declared.values or ()
    if declared.type is FieldType.ENUM and operand not in values:
        return Problem(
            code="operand_not_a_value",
            where=where,
            message=f"{_cut(operand)!r} is none of the values of '{field}'",
            mend=f"write one of: {listed(values)}",
        )
    return None


_EXAMPLES: Final = {
    FieldType.BOOLEAN: "true or false, without quotes",
    FieldType.NUMBER: "a number, without quotes",
    FieldType.STRING: "a text, in quotes where it looks like a number or true or false",
    FieldType.ENUM: "one of its declared values",
}


def _is_of(wanted: FieldType, operand: JsonScalar) -> bool:
    match wanted:
        case FieldType.BOOLEAN:
            return isinstance(operand, bool)
        case FieldType.NUMBER:
            return _is_number(operand)
        case FieldType.STRING | FieldType.ENUM:
            return isinstance(operand, str)


def depth_problems(condition: Condition, where: Where) -> list[Problem]:
    """Check how deeply groups are nested; the first term that is too deep is named."""
    too_deep = [
        (place, depth)
        for place, _, depth in terms(condition, where)
        if depth > limits.PREDICATE_DEPTH_MAX
    ]
    if not too_deep:
        return []
    place, depth = too_deep[0]
    return [
        Problem(
            code="too_deep",
            where=place,
            message=f"{depth} groups stand around this term; {limits.PREDICATE_DEPTH_MAX} may",
            mend="flatten groups of the same kind, or use a second decision node",
        )
    ]


def count_problems(conditions: tuple[Condition, ...], where: Where) -> list[Problem]:
    """Check how many terms all rules of one decision have together."""
    count = sum(1 for condition in conditions for _ in terms(condition))
    if count <= limits.PREDICATE_TERMS_MAX:
        return []
    return [
        Problem(
            code="too_many_terms",
            where=where,
            message=f"this decision has {count} terms; {limits.PREDICATE_TERMS_MAX} may be",
            mend="split it into several decision nodes",
        )
    ]
