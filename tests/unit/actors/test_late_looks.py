"""The host is asked about work only once the run knows that it was begun there.

An answer that says nothing was begun may come after the launch; told then, it would end the work.
"""

from pointsman.graph.work import CheckState, WorkAggregate
from tests.harness.core import agent, workflow
from tests.harness.fake_host import FakeHost
from tests.harness.review_story import RUN_ID, ReviewBench, played


class CountingHost(FakeHost):
    """Counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def inspect(self, attempt_id: str) -> WorkAggregate:
        self.asked.append(attempt_id)
        return await super().inspect(attempt_id)

    async def inspect_check(self, check_id: str) -> CheckState:
        self.asked.append(check_id)
        return await super().inspect_check(check_id)


def bench_with(host: CountingHost, entry: str) -> ReviewBench:
    nodes = {
        "implement": agent("done"),
        "tests": {"kind": "check", "run": ["true"], "next": "done"},
        "done": {"kind": "end"},
    }
    used = {name: nodes[name] for name in (entry, "done")}
    return ReviewBench(workflow(entry=entry, nodes=used), host=host)


def looked_at_while_held_up(entry: str, effect: str) -> list[str]:
    """Return what is asked about while the host has not yet taken the launch."""
    host = CountingHost()
    held = host.block(effect)

    async def story(bench: ReviewBench) -> None:
        await bench.begin()
        await bench.until(lambda: "_started" in bench.kinds()[-1])
        for _ in range(5):
            await bench.supervisor.wake(f"{RUN_ID}.{entry}.1.1")
        held.set()

    played(story, bench_with(host, entry))
    return host.asked


def test_an_agent_is_not_looked_at_before_its_launch() -> None:
    assert looked_at_while_held_up("implement", "launch_execution") == []


def test_a_check_is_not_looked_at_before_its_start() -> None:
    assert looked_at_while_held_up("tests", "start_check") == []
