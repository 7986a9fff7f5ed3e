"""A clock that a test sets, both ways."""

from datetime import datetime


class FakeClock:
    """Tells the time that was set."""

    def __init__(self, at: str) -> None:
        self.set(at)

    def set(self, at: str) -> None:
        """Set an instant, given as ISO text with its offset."""
        moment = datetime.fromisoformat(at)
        assert moment.tzinfo is not None, f"{at} has no offset"
        self._now_ms = round(moment.timestamp() * 1000)

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0) -> None:
        """Let time pass, or go back by a negative amount."""
        self._now_ms += round(((days * 24 + hours) * 60 + minutes) * 60_000)

    def now_ms(self) -> int:
        return self._now_ms
