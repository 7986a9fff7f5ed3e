"""Goal: whatever an author may write, every run of it keeps the laws and can be told again.

Method: hypothesis draws a valid definition and what happens to its run; afterwards the run is
told again from its commands alone, through states that were written down and read back.
"""

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from pointsman.graph import commands as cmd
from pointsman.graph.advance import advance
from pointsman.graph.decide import decide
from pointsman.graph.definition import Workflow
from pointsman.graph.events import RecordedEvent
from pointsman.graph.evolve import evolve
from pointsman.graph.replies import Accepted, Verdict
from pointsman.graph.run import Run
from pointsman.graph.validate import problems
from tests.harness.acts import ACTS, JOURNEYS, assert_lawful, assert_something_wakes_it
from tests.harness.core import RUN_ID, Process
from tests.harness.definition_strategy import definitions


class Told(Process):
    """A process that keeps what it was told, and when."""

    def __init__(self, definition: Workflow, **inputs: object) -> None:
        self.heard: list[tuple[int, cmd.Command, Verdict]] = []
        super().__init__(definition, **inputs)

    def send(self, command: cmd.Command) -> Verdict:
        verdict = super().send(command)
        self.heard.append((self.now_ms, command, verdict))
        return verdict


def told_again(process: Told) -> tuple[list[RecordedEvent], Run | None]:
    """Tell every command to states that went through JSON; nothing else is handed on."""
    run: Run | None = None
    recorded: list[RecordedEvent] = []
    for at_ms, command, before in process.heard:
        run = Run.model_validate_json(run.model_dump_json()) if run is not None else None
        verdict = decide(run, command, at_ms)
        assert verdict == before, "a decision depends on the state alone"
        events = verdict.events if isinstance(verdict, Accepted) else ()
        while events:
            for each in events:
                sequence = run.version if run is not None else 0
                new = RecordedEvent(run_id=RUN_ID, sequence=sequence, at_ms=at_ms, event=each)
                run = evolve(run, new)
                recorded.append(new)
            assert run is not None
            events = advance(run)
            assert events == advance(run), "asking changes nothing"
    return recorded, run


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(definition=definitions(), steps=JOURNEYS, extra=st.none() | st.integers(0, 3))
def test_every_run_of_every_valid_definition_keeps_the_laws(
    definition: Workflow, steps: list[tuple[str, int]], extra: int | None
) -> None:
    assert problems(definition) == ()
    process = Told(definition, task="x", **({} if extra is None else {"extra": extra}))
    for act, pick in steps:
        ACTS[act](process, pick)
        assert_something_wakes_it(process)
    assert_lawful(process)
    recorded, run = told_again(process)
    assert recorded == process.recorded
    assert run == process.run
    event(f"state {process.state.state}")
    event(f"visits {min(process.state.visits_used, 5)}")
