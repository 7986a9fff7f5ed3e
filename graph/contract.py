"""The report contract: the envelope every agent sends, and the fields its node declares.

``check_envelope`` accepts or names every mistake at once, so that an agent can mend a report in
one go. Required fields bind only an outcome of ``completed`` (§10.11): nobody has to invent
data. What an agent is told about all this is ``contract_text``'s.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from pydantic import Field

from pointsman.graph import limits
from pointsman.graph.canonical import canonical_bytes, digest, flaws
from pointsman.graph.contract_text import TOOL_NAME, TOOL_SCHEMA, describe, launch_text
from pointsman.graph.definition import FieldDeclaration, FieldType, ReportContract
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.problem import listed, nearest
from pointsman.graph.results import EvidenceReference, ReportOutcome

__all__ = [
    "TOOL_NAME",
    "TOOL_SCHEMA",
    "Envelope",
    "EnvelopeProblems",
    "FieldError",
    "check_envelope",
    "describe",
    "launch_text",
    "scalar_error",
]

PROTOCOL_VERSION: Final = 1
FIELD_ERRORS_MAX: Final = 100
_PATH_CHARS_MAX: Final = 200
_KEYS: Final = ("protocol_version", "retry_key", "outcome", "summary", "data", "evidence")
_FOREIGN: Final = frozenset({"run", "node", "attempt", "branch", "thread"})


class Envelope(Model):
    """A report whose every part is valid under its node's contract."""

    protocol_version: Literal[1]
    retry_key: str
    outcome: ReportOutcome
    summary: str
    data: dict[str, JsonScalar] = Field(default_factory=dict)
    evidence: tuple[EvidenceReference, ...] = ()

    @property
    def payload_digest(self) -> str:
        """The digest by which an exact retry is known; left-out data count as empty."""
        return digest(self.model_dump(mode="json"))


class FieldError(Model):
    """One mistake in a report, and what would be right there."""

    path: str
    problem: str
    expected: str


class EnvelopeProblems(Model):
    """A refused report: nothing of it may be recorded."""

    code: Literal["invalid", "too_large", "unsupported_version"]
    fields: tuple[FieldError, ...]


def check_envelope(contract: ReportContract, raw: object) -> Envelope | EnvelopeProblems:
    """Judge a report as it came over the wire; total, whatever ``raw`` is."""
    if not isinstance(raw, dict):
        error = FieldError(path="", problem=_is(raw), expected="an object")
        return EnvelopeProblems(code="invalid", fields=(error,))
    defects = flaws(raw)
    if defects:
        expected = "text, true, false, or a finite number; integers up to 2^53 - 1"
        errors = [
            FieldError(path=_path(flaw.where), problem=flaw.problem, expected=expected)
            for flaw in defects
        ]
        return EnvelopeProblems(code="invalid", fields=_bounded(errors))
    size = len(canonical_bytes(raw))
    if size > limits.ENVELOPE_BYTES_MAX:
        return EnvelopeProblems(code="too_large", fields=(_too_large(size),))
    version = raw.get("protocol_version")
    if type(version) is int and version != PROTOCOL_VERSION:
        return EnvelopeProblems(code="unsupported_version", fields=(_version_error(version),))
    errors = list(_errors(contract, raw))
    if errors:
        return EnvelopeProblems(code="invalid", fields=_bounded(errors))
    return Envelope(
        protocol_version=PROTOCOL_VERSION,
        retry_key=raw["retry_key"],
        outcome=ReportOutcome(raw["outcome"]),
        summary=raw["summary"],
        data=dict(raw.get("data", {})),
        evidence=tuple(EvidenceReference(**item) for item in raw.get("evidence", [])),
    )


def _path(where: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)[1:]


def _bounded(errors: list[FieldError]) -> tuple[FieldError, ...]:
    """Keep the answer small: a report may hold thousands of mistakes, or very long keys."""
    errors = [error.model_copy(update={"path": error.path[:_PATH_CHARS_MAX]}) for error in errors]
    if len(errors) <= FIELD_ERRORS_MAX:
        return tuple(errors)
    left_out = FieldError(
        path="",
        problem=f"{len(errors) - FIELD_ERRORS_MAX} more mistakes are not listed",
        expected="mend those listed first",
    )
    return (*errors[:FIELD_ERRORS_MAX], left_out)


def _too_large(size: int) -> FieldError:
    return FieldError(
        path="",
        problem=f"the report has {size} bytes",
        expected=f"at most {limits.ENVELOPE_BYTES_MAX} bytes; shorten texts, refer to files",
    )


def _version_error(version: int) -> FieldError:
    return FieldError(
        path="protocol_version",
        problem=f"version {version} is not spoken here",
        expected=str(PROTOCOL_VERSION),
    )


def _errors(contract: ReportContract, raw: Mapping[str, object]) -> Iterator[FieldError]:
    for key in raw:
        if key not in _KEYS:
            yield _unknown_key(key)
    if type(raw.get("protocol_version")) is not int:
        yield _wrong("protocol_version", raw, f"the number {PROTOCOL_VERSION}")
    yield from _text_errors(raw, "retry_key", limits.RETRY_KEY_CHARS_MAX)
    outcome = raw.get("outcome")
    if not isinstance(outcome, str) or outcome not in tuple(ReportOutcome):
        yield _wrong("outcome", raw, f"one of: {listed(ReportOutcome)}")
    yield from _text_errors(raw, "summary", limits.SUMMARY_CHARS_MAX)
    yield from _data_errors(contract, raw.get("data", {}), completed=outcome == "completed")
    yield from _evidence_errors(raw.get("evidence", []))


def _unknown_key(key: str) -> FieldError:
    if key.split("_")[0].removesuffix("Id").removesuffix("id") in _FOREIGN:
        return FieldError(
            path=key,
            problem="a report cannot name what it is for; that follows from who sends it",
            expected=f"leave it out; the keys are {listed(_KEYS)}",
        )
    close = nearest(key, _KEYS)
    return FieldError(
        path=key,
        problem="unknown key" + (f"; did you mean '{close}'?" if close else ""),
        expected=f"only {listed(_KEYS)}; declared fields go into data",
    )


def _is(value: object) -> str:
    """Say what a value is, in the words of JSON."""
    match value:
        case None:
            return "is null"
        case bool():
            return f"is {'true' if value else 'false'}"
        case int() | float():
            return f"is the number {value!r}"
        case str():
            return "is a text"
        case dict():
            return "is an object"
        case list():
            return "is a list"
        case _:
            return "is no JSON value"


def _wrong(key: str, raw: Mapping[str, object], expected: str) -> FieldError:
    value = raw.get(key)
    shown = f"is '{value[:40]}'" if isinstance(value, str) else _is(value)
    return FieldError(path=key, problem=shown if key in raw else "is missing", expected=expected)


def _text_errors(raw: Mapping[str, object], key: str, chars_max: int) -> Iterator[FieldError]:
    value = raw.get(key)
    expected = f"a text of 1 to {chars_max} characters"
    if not isinstance(value, str):
        yield _wrong(key, raw, expected)
    elif not 1 <= len(value) <= chars_max:
        yield FieldError(path=key, problem=f"has {len(value)} characters", expected=expected)


def _data_errors(
    contract: ReportContract, data: object, *, completed: bool
) -> Iterator[FieldError]:
    if not isinstance(data, dict):
        yield FieldError(
            path="data", problem=_is(data), expected="an object with the declared fields"
        )
        return
    for name, value in data.items():
        declared = contract.fields.get(name)
        if declared is None:
            yield _undeclared(contract, name)
        elif (error := scalar_error(f"data.{name}", declared, value)) is not None:
            yield error
    for name, declared in contract.fields.items():
        if completed and declared.required and name not in data:
            yield FieldError(
                path=f"data.{name}",
                problem="is missing, and required for outcome completed",
                expected=expected_value(declared),
            )


def _undeclared(contract: ReportContract, name: str) -> FieldError:
    close = nearest(name, contract.fields)
    return FieldError(
        path=f"data.{name}",
        problem="is not declared for this step" + (f"; did you mean '{close}'?" if close else ""),
        expected=f"only the declared fields: {listed(contract.fields, words_max=40)}",
    )


def expected_value(
    declared: FieldDeclaration, chars_max: int = limits.FIELD_STRING_CHARS_MAX
) -> str:
    """Say in words which values a declared field takes."""
    match declared.type:
        case FieldType.BOOLEAN:
            return "true or false"
        case FieldType.NUMBER:
            return "a finite number"
        case FieldType.STRING:
            return f"a text of at most {chars_max} characters"
        case FieldType.ENUM:
            return f"one of: {listed(declared.values or (), words_max=40)}"


def scalar_error(
    path: str,
    declared: FieldDeclaration,
    value: object,
    chars_max: int = limits.FIELD_STRING_CHARS_MAX,
) -> FieldError | None:
    """Check one value, free of ``flaws``, against its declaration; nothing is coerced."""
    expected = expected_value(declared, chars_max)
    match declared.type:
        case FieldType.BOOLEAN:
            right = isinstance(value, bool)
        case FieldType.NUMBER:
            right = isinstance(value, (int, float)) and not isinstance(value, bool)
        case FieldType.STRING:
            right = isinstance(value, str)
        case FieldType.ENUM:
            right = isinstance(value, str) and value in (declared.values or ())
    if not right:
        shown = f"is '{value[:40]}'" if isinstance(value, str) else _is(value)
        return FieldError(path=path, problem=shown, expected=expected)
    if isinstance(value, str) and len(value) > chars_max:
        return FieldError(path=path, problem=f"has {len(value)} characters", expected=expected)
    return None


def _evidence_errors(evidence: object) -> Iterator[FieldError]:
    if not isinstance(evidence, list):
        expected = "a list of {kind, reference}"
        yield FieldError(path="evidence", problem=_is(evidence), expected=expected)
        return
    if len(evidence) > limits.EVIDENCE_REFERENCES_MAX:
        yield FieldError(
            path="evidence",
            problem=f"has {len(evidence)} references",
            expected=f"at most {limits.EVIDENCE_REFERENCES_MAX}",
        )
    for index, item in enumerate(evidence):
        path = f"evidence[{index}]"
        if not isinstance(item, dict):
            yield FieldError(path=path, problem=_is(item), expected="an object {kind, reference}")
            continue
        for key in item:
            if key not in ("kind", "reference"):
                yield FieldError(
                    path=f"{path}.{key}", problem="unknown key", expected="only kind, reference"
                )
        parts = (
            ("kind", limits.EVIDENCE_KIND_CHARS_MAX),
            ("reference", limits.EVIDENCE_REFERENCE_CHARS_MAX),
        )
        for key, chars_max in parts:
            for error in _text_errors(item, key, chars_max):
                yield error.model_copy(update={"path": f"{path}.{error.path}"})
