"""A real server with a clock that the test sets, and a project with one workflow to schedule."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pointsman.runtime.scheduling.schedule_client import ScheduleClient
from pointsman.runtime.scheduling.schedule_views import (
    HostOccurrence,
    OccurrenceReply,
    OccurrenceView,
    PutSchedule,
    RunSchedule,
    ScheduleReply,
)
from tests.harness.fake_clock import FakeClock
from tests.harness.fake_host import FakeHost
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer
from tests.harness.journals import OpenJournal


class ScheduleBench:
    """A server, its clock, a project with one workflow, and what tests do to schedules."""

    def __init__(self, server: GatewayServer, clock: FakeClock, project: Path, text: str) -> None:
        self.server = server
        self.clock = clock
        self.project = project
        self.file = project / ".pointsman" / "workflows" / "change.yaml"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(text)
        self.client = ScheduleClient(server.url, OPERATOR_TOKEN)
        self._commands = 0

    def command(self) -> str:
        self._commands += 1
        return f"command-{self._commands}"

    def put(self, name: str = "nightly", **fields: Any) -> ScheduleReply:
        body: dict[str, Any] = {
            "command_id": self.command(),
            "workflow": "change",
            "repository": str(self.project),
            "inputs": {"task": "greet"},
            "cron": "0 2 * * *",
            "requested_by": "ann",
        }
        return self.client.put(name, PutSchedule.model_validate(body | fields))

    def at(self, moment: str) -> None:
        """Set the clock and let the scheduler look once."""
        self.clock.set(moment)
        self.server.fire_schedules()

    def run(self, command_id: str = "run-1", name: str = "nightly") -> OccurrenceView:
        body = RunSchedule(command_id=command_id, requested_by="ann")
        return self.client.run(name, body).occurrence

    def take(self, occurrence_id: str, **fields: Any) -> OccurrenceReply:
        """Tell an occurrence as a host's own scheduler does."""
        wish: dict[str, Any] = {"workflow": "change", "repository": str(self.project)}
        wish["inputs"] = {"task": "greet"}
        if "schedule" in fields:
            wish = {}
        body = {"occurrence_id": occurrence_id, "requested_by": "host", **wish, **fields}
        return self.client.take(HostOccurrence.model_validate(body))

    def occurrences(self, name: str = "nightly") -> list[OccurrenceView]:
        return self.client.occurrences(name)

    @property
    def slots(self) -> list[str | None]:
        """The slots that became occurrences, the oldest first."""
        return [each.slot and each.slot[:16] for each in reversed(self.occurrences())]

    @property
    def runs(self) -> list[str]:
        return [row.run_id for row in self.server.client.runs()]


@contextmanager
def schedule_bench(open_journal: OpenJournal, home: Path, text: str) -> Iterator[ScheduleBench]:
    """Serve at midnight of the first of December 2026, with a workflow of this text."""
    clock = FakeClock("2026-12-01T00:00+00:00")
    server = GatewayServer(open_journal, FakeHost(), home)
    server.clock = clock
    with server:
        bench = ScheduleBench(server, clock, home / "project", text)
        yield bench
        bench.client.close()
