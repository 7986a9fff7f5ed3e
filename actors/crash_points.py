"""Named places where a test may end this very process, as a power cut would.

``POINTSMAN_CRASH_AT=after_commit:3`` ends the process with SIGKILL the third time that the
place is reached; ``POINTSMAN_CRASH_BRANCH_AT`` does so to branch actors. Without the variables
nothing happens; production never sets them.
"""

import os
import signal
from enum import StrEnum
from typing import Final

VARIABLE: Final = "POINTSMAN_CRASH_AT"
BRANCH_VARIABLE: Final = "POINTSMAN_CRASH_BRANCH_AT"


class CrashPoint(StrEnum):
    """The gaps between the durable steps of a command and of an intent."""

    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"
    BEFORE_ACT = "before_act"
    AFTER_ACT = "after_act"


class CrashPoints:
    """Counts the passes of each place and ends the process at the asked one."""

    def __init__(self, wanted: str | None = None) -> None:
        place, _, count = (wanted or "").partition(":")
        self._place = CrashPoint(place) if place else None
        self._passes_left = int(count or 1)

    @classmethod
    def from_environment(cls, variable: str = VARIABLE) -> "CrashPoints":
        """Read the asked place from the environment."""
        return cls(os.environ.get(variable))

    def here(self, place: CrashPoint) -> None:
        """Pass a place, or end here."""
        if place is not self._place:
            return
        self._passes_left -= 1
        if self._passes_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
