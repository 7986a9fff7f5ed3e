"""The machine's wall clock, which is set forward and back while time goes on."""

from typing import Final

from tests.simulation.loop import SimulatedLoop

_BEGAN_MS: Final = 1_900_000_000_000


class SimulatedClock:
    """Shows simulated time since a certain day, and whatever it was set off by."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.off_ms = 0

    def now_ms(self) -> int:
        return _BEGAN_MS + int(self._loop.time() * 1000) + self.off_ms
