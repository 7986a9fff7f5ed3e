"""A run's trace told as lines for people: one clear line a step, with its time.

Entries in, lines out; nothing is printed here. What is not worth a line (a receipt, a bound
credential) gives none: ``pointsman trace`` shows everything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pointsman.graph import ids
from pointsman.runtime.cli.review_lines import REVIEW_TELLERS, reported, reviewer_of
from pointsman.runtime.cli.tones import Told, Tone
from pointsman.runtime.views.trace import TraceEntry, uncommitted

__all__ = ["TEXT_CHARS_MAX", "Line", "Narrator", "Tone"]

TEXT_CHARS_MAX: Final = 160


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``elapsed_s`` since the run's start. ``subject`` is the node, if there is one."""

    elapsed_s: float
    subject: str | None
    text: str
    tone: Tone = Tone.PLAIN

    def __str__(self) -> str:
        said = f"{self.subject} · {self.text}" if self.subject else self.text
        return f"{self.elapsed_s:6.1f} s  {said}"


Data = dict[str, Any]


class Narrator:
    """Tells one run's trace from its first entry on; it counts what the entries leave out."""

    def __init__(self) -> None:
        self._started: datetime | None = None
        self._bounds: dict[str, int] = {}
        self._repeats: dict[str, int] = {}

    def tell(self, entry: TraceEntry) -> Line | None:
        """Return the line of an entry, if it is worth one. Entries come in their order."""
        at = datetime.fromisoformat(entry.at)
        if self._started is None:
            self._started = at
        told = self._told(entry)
        if told is None:
            return None
        subject, text, tone = told
        return Line((at - self._started).total_seconds(), subject, _short(text), tone)

    def _told(self, entry: TraceEntry) -> Told | None:
        data = entry.data
        match entry.kind:
            case "run_started":
                self._bounds = data.get("repeats", {})
                said = f"{data['workflow']['name']} · run {entry.run_id}"
                if data.get("left_out"):
                    said = f"{said} · without {uncommitted(data['left_out'])}"
                return None, said, Tone.PLAIN
            case "route_taken":
                return self._route(data)
            case kind if kind in _TELLERS:
                return _TELLERS[kind](data)
            case kind if kind in _IN_FULL:
                return None, entry.text, _IN_FULL[kind]
            case _:
                return None

    def _route(self, data: Data) -> Told | None:
        node, to, route = data["from_node"], data["to"], data["route"]
        repeat = ""
        if data["counted"]:
            self._repeats[route] = self._repeats.get(route, 0) + 1
            bound = f" of {self._bounds[route]}" if route in self._bounds else ""
            repeat = f" (repeat {self._repeats[route]}{bound})"
        match data["reason"]:
            case "rule":
                return node, f"{data['rule']} → {to}{repeat}", Tone.PLAIN
            case "otherwise" | "unresolved":
                return node, f"{data['reason']} → {to}{repeat}", Tone.PLAIN
            case "repeat_limit":
                rule = data["rule"] or "again"
                return node, f"{rule}, but no repeat is left → {to}", Tone.BAD
            case "visit_limit":
                return node, f"no visit of the run is left → {to}", Tone.BAD
            case _:
                return (node, f"→ {to}{repeat}", Tone.PLAIN) if repeat else None


def _attempt_started(data: Data) -> Told | None:
    if reviewer_of(data) is not None:
        return None  # its launch is told: before it comes the worktree
    return data["node"], f"{_place(data['attempt_id'])} · agent at work", Tone.PLAIN


def _report_accepted(data: Data) -> Told:
    if reviewer_of(data) is not None:
        return reported(data)
    tone = Tone.GOOD if data["outcome"] == "completed" else Tone.BAD
    said = f"agent reported {data['outcome']}: {data['summary']}"
    return _node(data["attempt_id"]), f"{_place(data['attempt_id'])} · {said}", tone


def _attempt_settled(data: Data) -> Told | None:
    if data["outcome"] == "succeeded" or reviewer_of(data) is not None:
        return None  # of a reviewer its end is told
    said = f"work {data['outcome']}" + (f": {data['reason']}" if data["reason"] else "")
    return _node(data["attempt_id"]), f"{_place(data['attempt_id'])} · {said}", Tone.BAD


def _check_started(data: Data) -> Told:
    return data["node"], f"{_place(data['check_id'])} · check at work", Tone.PLAIN


def _check_ended(data: Data) -> Told:
    state, tone = data["state"], Tone.BAD
    if state["state"] != "exited":
        said = "its process was lost"
    elif state["timed_out"]:
        said = f"timed out after {state['duration_s']:.1f} s"
    elif state["interrupted"]:
        said = f"was stopped after {state['duration_s']:.1f} s"
    else:
        tone = Tone.GOOD if state["exit_code"] == 0 else Tone.BAD
        said = f"exit {state['exit_code']} after {state['duration_s']:.1f} s"
    return _node(data["check_id"]), f"{_place(data['check_id'])} · {said}", tone


def _node_unresolved(data: Data) -> Told:
    said = f"unresolved ({data['reason']}): {data['detail']}"
    return data["node"], f"{_place(data['visit_id'])} · {said}", Tone.PERSON


def _request_opened(data: Data) -> Told:
    request = data["request"]
    said = f"asks for {request['kind']}: {request['question']}"
    if (reviewer := reviewer_of(data)) is not None:
        return reviewer, said, Tone.PERSON
    return _node(data["attempt_id"]), f"{_place(data['attempt_id'])} · {said}", Tone.PERSON


def _gate_requested(data: Data) -> Told:
    return data["node"], f"waits for a person: {data['title']}", Tone.PERSON


def _gate_decided(data: Data) -> Told:
    said = "approved" if data["decision"] == "approve" else "changes requested"
    note = f": {data['note']}" if data["note"] else ""
    return data["node"], f"{said} by {data['decided_by']}{note}", Tone.PLAIN


def _workspace_prepared(data: Data) -> Told | None:
    if data["branch"] is None:
        return None
    return None, f"workspace ready on branch {data['branch']}", Tone.PLAIN


def _workspace_released(data: Data) -> Told | None:
    if not data["kept"]:
        return None
    key = data["workspace_key"].removeprefix("wf:")
    branch = None if key.endswith(":primary") else ids.place_of(key).branch
    who = f"  {branch}" if branch is not None else None
    return who, f"workspace kept: {data['why']}", Tone.PLAIN


_TELLERS: Final[dict[str, Callable[[Data], Told | None]]] = {
    **REVIEW_TELLERS,
    "attempt_started": _attempt_started,
    "report_accepted": _report_accepted,
    "attempt_settled": _attempt_settled,
    "check_started": _check_started,
    "check_ended": _check_ended,
    "node_unresolved": _node_unresolved,
    "native_request_opened": _request_opened,
    "gate_requested": _gate_requested,
    "gate_decided": _gate_decided,
    "workspace_prepared": _workspace_prepared,
    "workspace_released": _workspace_released,
}

# Rarer entries, told in the words of the trace.
_IN_FULL: Final = {
    "workspace_refused": Tone.BAD,
    "attempt_refused": Tone.BAD,
    "attempt_timed_out": Tone.BAD,
    "check_refused": Tone.BAD,
    "reminder_issued": Tone.PLAIN,
    "native_request_answered": Tone.PLAIN,
    "resume_requested": Tone.PLAIN,
    "resume_refused": Tone.BAD,
    "retry_requested": Tone.PLAIN,
    "cancel_requested": Tone.PLAIN,
    "run_completed": Tone.GOOD,
    "run_failed": Tone.BAD,
    "run_canceled": Tone.PLAIN,
}


def _node(derived: str) -> str:
    return ids.place_of(derived).node


def _place(derived: str) -> str:
    """Say which visit an id is of, and which try if it is not the first."""
    place = ids.place_of(derived)
    visit = place.visit.rpartition(".")[2]
    try_number = derived.removeprefix(place.visit).rpartition(".")[2]
    again = try_number.isdigit() and try_number != "1"
    return f"visit {visit}, try {try_number}" if again else f"visit {visit}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS_MAX else line[: TEXT_CHARS_MAX - 1] + "…"
