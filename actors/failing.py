"""What a run has asked of its host in vain, and for how long: a person is told of what lasts."""

from typing import Final, NamedTuple

from pointsman.actors.clock import Clock

# Longer than Ray needs to begin the host, or a branch's worker, again.
IN_VAIN_AFTER_MS: Final = 15_000


class WaitsInVainError(Exception):
    """A run goes on trying what its host does not answer; its worker is sound and keeps it."""


class _Failure(NamedTuple):
    since_ms: int
    said: str


class Failing:
    """The things that failed when they were last tried, by what they are called."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, _Failure] = {}

    def note(self, what: str, error: Exception) -> None:
        """Something could not be done; it is tried again."""
        before = self._failures.get(what)
        since_ms = before.since_ms if before is not None else self._clock.now_ms()
        self._failures[what] = _Failure(since_ms, f"{what}: {error}")

    def end(self, what: str) -> None:
        """It was done, or is wanted no more."""
        self._failures.pop(what, None)

    def clear(self) -> None:
        """Nothing of it is wanted any more."""
        self._failures.clear()

    def demand_hope(self) -> None:
        """Raise ``WaitsInVainError`` for what has failed for long."""
        now_ms = self._clock.now_ms()
        for failure in self._failures.values():
            if now_ms - failure.since_ms >= IN_VAIN_AFTER_MS:
                raise WaitsInVainError(failure.said)
