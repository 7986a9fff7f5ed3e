"""The one place that reads the wall clock; everything else is told the time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch. It may jump both ways."""
        ...


class SystemClock:
    """The machine's wall clock."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000
