"""The lines of progress that are about parallel reviews: the change, each reviewer, the join.

Reviewers stand indented below their group, one line for each thing worth telling.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pointsman.graph import ids
from pointsman.graph.explain import shown
from pointsman.runtime.cli.tones import Told, Tone
from pointsman.runtime.views.review_words import commit_in_short, files_changed, named

Data = dict[str, Any]


def reviewer_of(data: Data) -> str | None:
    """Return the branch that an entry is about, indented; ``None`` if it is no reviewer's."""
    derived = data.get("branch_id") or data.get("attempt_id")
    branch = ids.place_of(derived).branch if derived else None
    return f"  {branch}" if branch is not None else None


def _change_frozen(data: Data) -> Told:
    base, files = commit_in_short(data["base_commit"]), files_changed(data["diff_stat"])
    about = f"base {base}, {files}" if files else f"base {base}"
    said = f"frozen at {commit_in_short(data['frozen_commit'])} ({about})"
    if data["committed"]:
        said = f"{said}; what was uncommitted was committed first"
    if data["left_out"]:
        said = f"{said}; without the uncommitted {named(data['left_out'])}"
    return data["node"], said, Tone.PLAIN


def _change_refused(data: Data) -> Told:
    return data["node"], f"nothing was frozen ({data['reason']}): {data['message']}", Tone.BAD


def _branch_interrupted(data: Data) -> Told:
    return reviewer_of(data), f"interrupted: {data['detail']}", Tone.PERSON


def _deadline_passed(data: Data) -> Told:
    return reviewer_of(data), "past its deadline; what runs of it is being ended", Tone.BAD


def _branch_ended(data: Data) -> Told:
    if data["outcome"] == "completed":
        said = "completed: its work is over, its worktree is still what was frozen"
        return reviewer_of(data), said, Tone.GOOD
    why = f" ({data['reason']})" if data["reason"] else ""
    detail = f": {data['detail']}" if data["detail"] else ""
    return reviewer_of(data), f"{data['outcome']}{why}{detail}", Tone.BAD


def _head_compared(data: Data) -> Told | None:
    reviewed, head = data["frozen_commit"], data["head"]
    if head == reviewed:
        return None
    if head is None:
        return data["node"], f"where the change stands cannot be known: {data['why']}", Tone.BAD
    said = f"the change is at {commit_in_short(head)}, and {commit_in_short(reviewed)} was reviewed"
    return data["node"], said, Tone.BAD


def _join_committed(data: Data) -> Told:
    if data["outcome"] == "all_completed":
        return data["node"], f"all {len(data['branches'])} completed", Tone.GOOD
    # The details follow: the join is then unresolved, and says why.
    each = ", ".join(f"{branch['branch']} {branch['outcome']}" for branch in data["branches"])
    return data["node"], f"{data['outcome']} ({each})", Tone.BAD


def _review_again(data: Data) -> Told:
    return data["node"], f"review again → {data['group']} ({data['requested_by']})", Tone.PLAIN


def _launched(data: Data) -> Told | None:
    branch = reviewer_of(data)
    if branch is None:
        return None
    try_number = data["attempt_id"].rpartition(".")[2]
    again = f" (try {try_number})" if try_number != "1" else ""
    return branch, f"reviewer at work{again}", Tone.PLAIN


REVIEW_TELLERS: Final[Mapping[str, Callable[[Data], Told | None]]] = {
    "change_frozen": _change_frozen,
    "change_refused": _change_refused,
    "branch_interrupted": _branch_interrupted,
    "branch_deadline_passed": _deadline_passed,
    "branch_ended": _branch_ended,
    "head_compared": _head_compared,
    "join_committed": _join_committed,
    "review_again_requested": _review_again,
    "attempt_launched": _launched,
}


def reported(data: Data) -> Told:
    """Tell a reviewer's claim by its values: ``reported: approve, 0 blockers``."""
    if data["outcome"] != "completed":
        return reviewer_of(data), f"reported {data['outcome']}: {data['summary']}", Tone.BAD
    said = values_in_words(data["data"]) or data["summary"]
    return reviewer_of(data), f"reported: {said}", Tone.PLAIN


def values_in_words(data: Mapping[str, bool | int | float | str]) -> str:
    """Say the values of a report in few words; texts of more than a word are left out."""
    said = []
    for name, value in data.items():
        words = name.replace("_", " ")
        if isinstance(value, bool):
            said.append(words if value else f"not {words}")
        elif isinstance(value, int | float):
            said.append(f"{shown(value)} {_singular(words) if value == 1 else words}")
        elif value and not any(character.isspace() for character in value):
            said.append(value)
    return ", ".join(said)


def _singular(words: str) -> str:
    """Take a plural's s off: the name of a count is a plural, such as ``blockers``."""
    return words if words.endswith(("ss", "us", "is")) else words.removesuffix("s")
