"""Identifiers: one is minted per run, every other is derived and never drawn again.

A retry after a lost acknowledgement therefore repeats the same keys at the host
(``wf-host/1`` §2.1). All ids are safe as file names, git branch parts and URL segments.
"""

import re
from typing import Final, NamedTuple

_RUN_ID: Final = re.compile(r"^r([0-9a-f]{1,2})-([0-9a-hjkmnp-tv-z]{26})$")


def run_id(shard: int, ulid: str) -> str:
    """Name a run of a shard; ``ulid`` is minted by the caller."""
    made = f"r{shard:x}-{ulid.lower()}"
    assert _RUN_ID.match(made), f"not a ULID: {ulid!r}"
    return made


def shard_of(run: str) -> int | None:
    """Read the shard from a run id; ``None`` when the text is no run id."""
    match = _RUN_ID.match(run)
    return int(match[1], 16) if match else None


def visit_id(run: str, node: str, number: int) -> str:
    """Name the ``number``-th admitted entry of a node in a run (1-based)."""
    return f"{run}.{node}.{number}"


def attempt_id(visit: str, try_number: int) -> str:
    """Name one try of a visit (1-based): an agent's attempt, or one start of a check."""
    return f"{visit}.{try_number}"


def branch_id(visit: str, branch: str) -> str:
    """Name a reviewer's branch of a parallel group's visit; its attempts are named from it."""
    return f"{visit}.{branch}"


class Place(NamedTuple):
    """Where an attempt, a check or a branch belongs. ``branch`` is a key of its group."""

    run: str
    node: str
    visit: str
    branch: str | None

    @property
    def branch_id(self) -> str | None:
        """The id of the reviewer's branch; ``None`` for what is of no branch."""
        return branch_id(self.visit, self.branch) if self.branch is not None else None


def place_of(derived: str) -> Place:
    """Read the place from the id of an attempt, a check or a branch.

    Names of branches begin with a letter and try numbers do not, so the parts cannot be confused.
    """
    run, node, number, *rest = derived.split(".")
    branch = rest[0] if rest and not rest[0].isdigit() else None
    return Place(run, node, visit_id(run, node, int(number)), branch)


def run_of(derived: str) -> str:
    """Return the run a visit, attempt, check or gate id belongs to."""
    return derived.partition(".")[0]


def workspace_key(run: str) -> str:
    """Name the run's own worktree at the host."""
    return f"wf:{run}:primary"


def review_workspace_key(branch: str) -> str:
    """Name the worktree of one reviewer's branch (by the branch's id) at the host."""
    return f"wf:{branch}"


def branch_name(run: str) -> str:
    """Name the git branch the run's own worktree commits to."""
    return f"pointsman/{run}"


def thread_id(attempt: str) -> str:
    """Name the host's conversation for one attempt."""
    return f"wf-{attempt}"


def effect_key(subject: str, act: str) -> str:
    """Name one outside act on a subject: the intent's id and the host's idempotency key."""
    return f"wf:{subject}:{act}"
