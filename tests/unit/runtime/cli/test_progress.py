"""Goal: a person sees one clear line a step, and nothing that is not worth one."""

import pytest

from pointsman.graph.commands import DecideGate
from pointsman.graph.results import GateDecision
from pointsman.runtime.cli.progress import TEXT_CHARS_MAX, Line, Narrator, Tone
from pointsman.runtime.views.trace import trace_entry
from tests.harness.core import Process


def told(process: Process) -> list[Line]:
    narrator = Narrator()
    lines = [narrator.tell(trace_entry(each)) for each in process.recorded]
    return [line for line in lines if line is not None]


def said(process: Process) -> list[str]:
    return [
        f"{line.subject} · {line.text}" if line.subject else line.text for line in told(process)
    ]


@pytest.fixture
def reworked() -> Process:
    """A run whose tests fail once, then pass, and that waits for a person."""
    process = Process()
    process.work(data={"risk": "low"}).run_check(exit_code=1)
    process.work(data={"risk": "high"}).run_check(exit_code=0)
    return process


def test_a_run_is_told_step_by_step(reworked: Process) -> None:
    lines = said(reworked)
    assert lines[0].startswith("Change · run r0-")
    assert "implement · visit 1 · agent at work" in lines
    assert "implement · visit 2 · agent reported completed: Done." in lines
    assert "verdict · tests failed → implement (repeat 1 of 1)" in lines
    assert "verdict · otherwise → approve" in lines
    assert lines[-1] == "approve · waits for a person: Approve the change"


def test_book_keeping_gets_no_line(reworked: Process) -> None:
    assert len(told(reworked)) < len(reworked.recorded) / 2
    assert not any("receipt" in line or "may report" in line for line in said(reworked))


def test_a_failed_check_stands_out_and_a_waiting_gate_calls_for_a_person(
    reworked: Process,
) -> None:
    tones = {line.text: line.tone for line in told(reworked)}
    assert next(tone for text, tone in tones.items() if "exit 1" in text) is Tone.BAD
    assert next(tone for text, tone in tones.items() if "exit 0" in text) is Tone.GOOD
    assert next(tone for text, tone in tones.items() if "waits for" in text) is Tone.PERSON


def test_a_persons_note_is_told_with_the_decision(reworked: Process) -> None:
    gate = reworked.visit.gate
    assert gate is not None
    reworked.send(
        DecideGate(
            gate_id=gate.gate_id,
            revision=gate.revision,
            decision=GateDecision.REQUEST_CHANGES,
            note="Too clever.",
            decided_by="ann",
        )
    )
    assert "approve · changes requested by ann: Too clever." in said(reworked)
    assert "approve · → implement (repeat 1 of 1)" in said(reworked)


def test_used_up_repeats_are_told_as_such() -> None:
    process = Process()
    process.work(data={"risk": "low"}).run_check(exit_code=1)
    process.work(data={"risk": "low"}).run_check(exit_code=1)
    assert "verdict · tests failed, but no repeat is left → look" in said(process)


def test_times_count_from_the_runs_start() -> None:
    process = Process()
    process.now_ms += 90_500
    process.work(data={"risk": "low"})
    lines = told(process)
    assert str(lines[0]).startswith("   0.0 s  ")
    assert lines[-1].elapsed_s == 90.5


def test_a_long_summary_is_cut_to_one_line() -> None:
    process = Process()
    process.launch().report(summary="many\nwords " * 300, data={"risk": "low"})
    line = told(process)[-1]
    assert len(line.text) == TEXT_CHARS_MAX
    assert "\n" not in line.text
    assert line.text.endswith("…")
