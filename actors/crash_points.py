"""Every seam between two durable steps, by name: places where a test may end this very process.

``POINTSMAN_CRASH_AT=after_commit:3`` ends a run actor's process with SIGKILL the third time that
the place is reached, as a power cut would. The supervisor, branch actors, and the host and its
runners have a variable each. Without them nothing happens; production never sets them.

``tests/tidy/test_crash_points`` holds this list to the code and to the tests that kill.
"""

import os
import signal
from enum import StrEnum
from typing import Final

VARIABLE: Final = "POINTSMAN_CRASH_AT"
BRANCH_VARIABLE: Final = "POINTSMAN_CRASH_BRANCH_AT"
SUPERVISOR_VARIABLE: Final = "POINTSMAN_CRASH_SUPERVISOR_AT"
HOST_VARIABLE: Final = "POINTSMAN_CRASH_HOST_AT"


class CrashPoint(StrEnum):
    """The gaps between the durable steps of a command, an intent, a lease and an effect."""

    # The run actor, and what it shares with branch actors.
    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"
    BEFORE_REPLY = "before_reply"
    BEFORE_ACT = "before_act"
    AFTER_ACT = "after_act"
    # The supervisor.
    BEFORE_LEASE = "before_lease"
    AFTER_LEASE = "after_lease"
    AFTER_ASSIGN = "after_assign"
    # The local host. A record is any of its files; an effect's receipt is one of them.
    BEFORE_CLAIM = "before_claim"
    AFTER_CLAIM = "after_claim"
    BEFORE_RECEIPT = "before_receipt"
    AFTER_RECEIPT = "after_receipt"
    BEFORE_RECORD = "before_record"
    AFTER_RECORD = "after_record"
    BEFORE_START = "before_start"
    AFTER_START = "after_start"
    BEFORE_WORKTREE = "before_worktree"
    AFTER_WORKTREE = "after_worktree"
    BEFORE_REMOVAL = "before_removal"
    AFTER_REMOVAL = "after_removal"
    BEFORE_OWN_COMMIT = "before_own_commit"
    AFTER_OWN_COMMIT = "after_own_commit"
    BEFORE_FREEZE = "before_freeze"
    AFTER_FREEZE = "after_freeze"
    # The runner of one command, a process of its own that outlives the host.
    BEFORE_RUN = "before_run"
    AFTER_RUN = "after_run"
    BEFORE_EXIT = "before_exit"
    AFTER_EXIT = "after_exit"


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


# A host's places lie deep in plain functions, so that there is one of these a process.
_of_this_host = CrashPoints.from_environment(HOST_VARIABLE)


def here(place: CrashPoint) -> None:
    """Pass a place of the local host or of a runner, or end here."""
    _of_this_host.here(place)


def arm(wanted: str) -> None:
    """End this process at a place of the host from now on; for tests."""
    global _of_this_host  # noqa: PLW0603 - set once, by a process that is about to die
    _of_this_host = CrashPoints(wanted)
