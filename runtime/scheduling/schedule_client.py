"""The client's side of schedules, over a running server."""

from pointsman.runtime.connection import Connection, part_of_path
from pointsman.runtime.scheduling.schedule_views import (
    HostOccurrence,
    OccurrenceReply,
    OccurrencesPage,
    OccurrenceView,
    PutSchedule,
    RemoveSchedule,
    RunSchedule,
    ScheduleReply,
    SchedulesPage,
    ScheduleView,
)

_TIMEOUT_S = 30.0


class ScheduleClient:
    """Speaks to one server about schedules. A lost answer is asked for again, which is harmless."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = Connection(url, token, _TIMEOUT_S, None)

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

    def page(self) -> SchedulesPage:
        """List all schedules."""
        response = self._connection.send("GET", "/api/schedules")
        return SchedulesPage.model_validate_json(response.content)

    def get(self, name: str) -> ScheduleView:
        """Look at a schedule."""
        response = self._connection.send("GET", _address(name))
        return ScheduleView.model_validate_json(response.content)

    def occurrences(self, name: str, limit: int = 100) -> list[OccurrenceView]:
        """List what a schedule has started or not, newest first."""
        params = {"limit": limit}
        response = self._connection.send("GET", f"{_address(name)}/occurrences", params=params)
        return OccurrencesPage.model_validate_json(response.content).occurrences

    def put(self, name: str, request: PutSchedule) -> ScheduleReply:
        """Make a schedule, or replace the revision that was read."""
        return self._changed("PUT", name, request)

    def remove(self, name: str, request: RemoveSchedule) -> ScheduleReply:
        """Remove the revision that was read."""
        return self._changed("DELETE", name, request)

    def run(self, name: str, request: RunSchedule) -> OccurrenceReply:
        """Start a schedule's workflow now."""
        return self._connection.post(f"{_address(name)}/run", request, OccurrenceReply)

    def take(self, request: HostOccurrence) -> OccurrenceReply:
        """Start what another scheduler fired, once for each of its occurrence ids."""
        return self._connection.post("/api/occurrences", request, OccurrenceReply)

    def _changed(self, method: str, name: str, body: PutSchedule | RemoveSchedule) -> ScheduleReply:
        response = self._connection.send(
            method,
            _address(name),
            content=body.model_dump_json().encode(),
            headers={"Content-Type": "application/json"},
        )
        return ScheduleReply.model_validate_json(response.content)


def _address(name: str) -> str:
    return f"/api/schedules/{part_of_path(name)}"
