"""The report contract: exact bounds, every mistake at once, and nothing coerced."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.graph import limits
from pointsman.graph.canonical import canonical_bytes
from pointsman.graph.contract import (
    TOOL_SCHEMA,
    Envelope,
    EnvelopeProblems,
    check_envelope,
    describe,
    launch_text,
)
from pointsman.graph.definition import ReportContract

CONTRACT = ReportContract.model_validate_json(
    json.dumps(
        {
            "fields": {
                "tests_added": {"type": "number", "required": True},
                "risk": {"type": "enum", "values": ["low", "high"]},
                "notes": {"type": "string", "description": "What to look at"},
                "safe": {"type": "boolean"},
            }
        }
    )
)


def envelope(**changes: object) -> dict[str, object]:
    whole: dict[str, object] = {
        "protocol_version": 1,
        "retry_key": "k",
        "outcome": "completed",
        "summary": "done",
        "data": {"tests_added": 1},
    }
    return {**whole, **changes}


def accepted(raw: object, contract: ReportContract = CONTRACT) -> Envelope:
    found = check_envelope(contract, raw)
    assert isinstance(found, Envelope), found
    return found


def refused(raw: object, contract: ReportContract = CONTRACT) -> EnvelopeProblems:
    found = check_envelope(contract, raw)
    assert isinstance(found, EnvelopeProblems), found
    return found


def paths(raw: object) -> list[str]:
    problems = refused(raw)
    assert problems.code == "invalid"
    return [error.path for error in problems.fields]


def test_a_valid_report_is_kept_exactly_and_survives_json() -> None:
    found = accepted(envelope(data={"tests_added": 1.0, "safe": True}))
    again = Envelope.model_validate_json(found.model_dump_json())
    assert again == found
    assert again.payload_digest == found.payload_digest
    assert type(again.data["tests_added"]) is float


def test_all_mistakes_are_told_at_once() -> None:
    raw = {
        "protocol_version": "1",
        "retry_key": "",
        "outcome": "done",
        "data": {"risk": "medium", "safe": 1, "other": 1},
        "evidence": [{"kind": "file"}, 3],
        "sumary": "x",
    }
    assert paths(raw) == [
        "sumary",
        "protocol_version",
        "retry_key",
        "outcome",
        "summary",
        "data.risk",
        "data.safe",
        "data.other",
        "evidence[0].reference",
        "evidence[1]",
    ]
    assert all(error.problem and error.expected for error in refused(raw).fields)


@pytest.mark.parametrize("key", ["run_id", "node", "attempt_id", "attemptId", "runId", "branch"])
def test_a_report_cannot_name_what_it_is_for(key: str) -> None:
    error = refused(envelope(**{key: "x"})).fields[0]
    assert error.path == key
    assert "follows from who sends it" in error.problem


@pytest.mark.parametrize(
    "data,wrong",
    [
        ({"tests_added": True}, ["data.tests_added"]),
        ({"tests_added": "1"}, ["data.tests_added"]),
        ({"tests_added": None}, ["data.tests_added"]),
        ({"tests_added": float("nan")}, ["data.tests_added"]),
        ({"tests_added": float("inf")}, ["data.tests_added"]),
        ({"tests_added": 2**53}, ["data.tests_added"]),
        ({"tests_added": 1, "notes": "\ud800"}, ["data.notes"]),
        ({"tests_added": 1, "notes": {"a": 1}}, ["data.notes"]),
        ({"tests_added": 1, "risk": "LOW"}, ["data.risk"]),
        ({}, ["data.tests_added"]),
        ([], ["data"]),
        (None, ["data"]),
    ],
)
def test_a_field_of_another_type_is_told(data: object, wrong: list[str]) -> None:
    assert paths(envelope(data=data)) == wrong


@pytest.mark.parametrize("outcome", ["blocked", "failed"])
def test_required_fields_bind_only_a_completed_outcome(outcome: str) -> None:
    accepted(envelope(outcome=outcome, data={}))
    assert paths(envelope(outcome=outcome, data={"tests_added": "x"})) == ["data.tests_added"]
    assert paths(envelope(outcome=outcome, data={"other": 1})) == ["data.other"]


@pytest.mark.parametrize("version", [0, 2, 2**40])
def test_another_protocol_version_has_its_own_code(version: int) -> None:
    assert refused(envelope(protocol_version=version)).code == "unsupported_version"


@pytest.mark.parametrize("version", [True, 1.0, "1", None])
def test_a_version_that_is_no_integer_is_invalid(version: object) -> None:
    assert paths(envelope(protocol_version=version)) == ["protocol_version"]


def of_size(size: int) -> dict[str, object]:
    """Return a report of exactly ``size`` canonical bytes, of two-byte characters mostly."""
    contract_fields: dict[str, object] = {f"f{index}": "" for index in range(5)}
    raw = envelope(data=contract_fields)
    missing = size - len(canonical_bytes(raw))
    for name in contract_fields:
        part = min(missing, 2 * limits.FIELD_STRING_CHARS_MAX)
        contract_fields[name] = "é" * (part // 2) + "a" * (part % 2)
        missing -= part
    assert len(canonical_bytes(raw)) == size
    return raw


WIDE = ReportContract.model_validate_json(
    json.dumps({"fields": {f"f{index}": {"type": "string"} for index in range(5)}})
)


def test_a_report_of_65536_bytes_is_accepted_and_one_more_is_refused() -> None:
    accepted(of_size(65_536), WIDE)
    problems = refused(of_size(65_537), WIDE)
    assert problems.code == "too_large"
    assert "65537 bytes" in problems.fields[0].problem


def test_the_other_bounds_are_exact() -> None:
    accepted(envelope(summary="é" * 4_000, retry_key="k" * 128))
    assert paths(envelope(summary="é" * 4_001)) == ["summary"]
    assert paths(envelope(retry_key="k" * 129)) == ["retry_key"]
    evidence = [{"kind": "file", "reference": "x" * 1_000}] * 20
    accepted(envelope(evidence=evidence))
    assert paths(envelope(evidence=[*evidence, evidence[0]])) == ["evidence"]
    assert paths(envelope(evidence=[{"kind": "k", "reference": "x" * 1_001}])) == [
        "evidence[0].reference"
    ]
    accepted(envelope(data={"tests_added": 1, "notes": "x" * 16_000}))
    assert paths(envelope(data={"tests_added": 1, "notes": "x" * 16_001})) == ["data.notes"]


def test_one_and_one_point_zero_and_true_have_different_digests() -> None:
    loose = ReportContract.model_validate_json('{"fields": {"n": {"type": "number"}}}')
    one = accepted(envelope(data={"n": 1}), loose).payload_digest
    assert one == accepted(envelope(data={"n": 1}), loose).payload_digest
    assert one != accepted(envelope(data={"n": 1.0}), loose).payload_digest


def test_left_out_data_and_evidence_count_as_empty_ones() -> None:
    bare = envelope(outcome="failed")
    del bare["data"]
    full = envelope(outcome="failed", data={}, evidence=[])
    assert accepted(bare).payload_digest == accepted(full).payload_digest


def test_thousands_of_mistakes_are_answered_briefly() -> None:
    errors = refused(envelope(data={f"x{index}": 1 for index in range(3_000)})).fields
    assert len(errors) == 101
    assert "2901 more" in errors[-1].problem


def test_a_report_nested_without_end_is_refused() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    assert refused(envelope(data=deep)).code == "invalid"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*envelope(), "evidence", "x"]), JSON) | JSON)
def test_checking_a_report_is_total(raw: object) -> None:
    check_envelope(CONTRACT, raw)


def test_the_description_names_every_field_and_its_example_is_accepted() -> None:
    described = describe(CONTRACT)
    assert json.loads(json.dumps(described)) == described
    assert isinstance(described["data"], dict)
    assert described["data"]["fields"] == {
        "tests_added": {"type": "number", "required": "for outcome completed"},
        "risk": {"type": "enum", "required": "never", "values": ["low", "high"]},
        "notes": {
            "type": "string",
            "required": "never",
            "chars_max": 16_000,
            "description": "What to look at",
        },
        "safe": {"type": "boolean", "required": "never"},
    }
    accepted(described["example"])


def test_the_launch_text_says_how_to_report_and_what_silence_means() -> None:
    text = launch_text(CONTRACT)
    for part in (
        "workflow_report",
        "stays unresolved",
        "tests_added: number, required when the outcome is completed",
        'risk: one of "low", "high", optional',
        "What to look at",
        "65536 bytes",
    ):
        assert part in text
    assert "declares no fields" in launch_text(ReportContract())


def test_the_tool_schema_is_flat_and_closed() -> None:
    assert TOOL_SCHEMA["type"] == "object"
    assert TOOL_SCHEMA["additionalProperties"] is False
    assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & set(TOOL_SCHEMA)
    assert "$ref" not in json.dumps(dict(TOOL_SCHEMA))
