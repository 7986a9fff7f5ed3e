"""The trace of a run: each recorded event with one line for people and its data for programs.

A route carries every predicate that was considered, with its value. What an agent claims
(``claim``), what a command showed (``check``), what the host saw of a reviewer's worktree or of
the head (``verification``) and what a person decided (``decision``) are told apart: a claim is
never presented as verified.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from pointsman.graph import edges, ids
from pointsman.graph import events as ev
from pointsman.graph import review_events as rev
from pointsman.graph.explain import shown
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.predicate import ConsideredTerm
from pointsman.graph.results import GateComment
from pointsman.graph.work import CheckExited
from pointsman.runtime.views.lasting import Lasted, Lasting
from pointsman.runtime.views.review_words import (
    commit_in_short,
    named,
    text_of_review,
    worktree_of,
)

Evidence = Literal["claim", "check", "decision", "verification"]


# What needs no quotes in YAML, whatever stands around it.
_PLAIN: Final = re.compile(
    r"(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z_][\w./-]*", re.IGNORECASE
)


class TraceEntry(Model):
    """One event: ``sequence`` is its place, ``kind`` its type, ``data`` its own fields.

    ``lasted`` stands at what ends something: the sequence of its beginning, and how long it took.
    """

    run_id: str
    sequence: int
    at: str
    kind: str
    text: str
    evidence: Evidence | None = None
    lasted: Lasted | None = None
    data: dict[str, Any]


def entries_of(history: Iterable[ev.RecordedEvent]) -> Iterator[TraceEntry]:
    """Yield a run's whole history, or its beginning, as entries of its trace."""
    lasting = Lasting()
    return (trace_entry(each, lasting.see(each)) for each in history)


def trace_entry(recorded: ev.RecordedEvent, lasted: Lasted | None = None) -> TraceEntry:
    """Return one recorded event as an entry of the trace."""
    event = recorded.event
    moment = datetime.fromtimestamp(recorded.at_ms / 1000, UTC)
    return TraceEntry(
        run_id=recorded.run_id,
        sequence=recorded.sequence,
        at=moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        kind=event.kind,
        text=text_of(event),
        evidence=_evidence(event),
        lasted=lasted,
        data=_data(event),
    )


def _data(event: ev.Event) -> dict[str, Any]:
    if isinstance(event, ev.RunStarted):
        # The definition is large and the same in every reading; its digest names it.
        shown = event.model_dump(mode="json", exclude={"kind", "workflow"})
        workflow = event.workflow
        shown["workflow"] = {
            "id": workflow.id,
            "name": workflow.name,
            "revision": workflow.revision,
        }
        # By the route, as its ``RouteTaken`` names it: how often it may be taken.
        shown["repeats"] = {
            "/".join(map(str, each.where[1:])): each.target.repeat.max
            for each in edges.routes(workflow)
            if each.target.repeat is not None
        }
        return shown
    return event.model_dump(mode="json", exclude={"kind", "token_digest"})


def _evidence(event: ev.Event) -> Evidence | None:
    match event:
        case ev.ReportAccepted():
            return "claim"
        case ev.CheckEnded():
            return "check"
        case ev.GateDecided():
            return "decision"
        case rev.CheckoutVerified() | rev.HeadCompared():
            return "verification"
        case _:
            return None


def _short(derived: str) -> str:
    """Leave the run out of a derived id: the reader knows which run it is."""
    return derived.removeprefix(f"{ids.run_of(derived)}.")


def text_of(event: ev.Event) -> str:
    """Return the line that tells a person what happened."""
    return (
        _of_lifecycle(event)
        or _of_node(event)
        or _of_attempt(event)
        or _of_people(event)
        or text_of_review(event)
        or event.kind.replace("_", " ")
    )


def _of_lifecycle(event: ev.Event) -> str | None:
    match event:
        case ev.RunStarted(workflow=workflow, started_by=who, left_out=paths):
            without = f", without {uncommitted(paths)}" if paths else ""
            return f"{workflow.name} (revision {workflow.revision}) started by {who}{without}"
        case ev.WorkspacePrepared(workspace_key=key, path=path, branch=branch, head_commit=head):
            at = f" on branch {branch}" if branch else f", detached at {commit_in_short(head)}"
            return f"{worktree_of(key)} ready at {path}{at}"
        case ev.WorkspaceRefused(workspace_key=key, reason=reason, message=message):
            return f"no {worktree_of(key)}: {message} ({reason})"
        case ev.WorkspaceReleased(workspace_key=key, kept=True, why=why):
            return f"{worktree_of(key)} kept: {why}"
        case ev.WorkspaceReleased(workspace_key=key):
            of_run = key.endswith(":primary")
            return f"{worktree_of(key)} removed" + ("; its branch is kept" if of_run else "")
        case ev.RunCompleted(node=node):
            return f"run completed at {node}"
        case ev.RunFailed(node=node):
            return f"run failed at {node}"
        case ev.CancelRequested(requested_by=who, reason=reason):
            return f"canceled by {who}" + (f": {reason}" if reason else "")
        case ev.RunCanceled():
            return "run canceled; everything it owned has been ended"
        case _:
            return None


def _of_node(event: ev.Event) -> str | None:
    match event:
        case ev.NodeEntered(node=node, number=number):
            return f"{node} entered" + (f" (visit {number})" if number > 1 else "")
        case ev.NodeCompleted(node=node):
            return f"{node} completed"
        case ev.NodeUnresolved(node=node, reason=reason, detail=detail):
            return f"{node} is unresolved ({reason}): {detail}"
        case ev.RouteTaken():
            return _of_route(event)
        case ev.CheckStarted(check_id=check):
            return f"check {_short(check)} scheduled"
        case ev.CheckLaunched(check_id=check):
            return f"check {_short(check)} started"
        case ev.CheckRefused(check_id=check, message=message):
            return f"check {_short(check)} was not run: {message}"
        case ev.CheckEnded(check_id=check, state=CheckExited() as state):
            return f"check {_short(check)} {_exit(state)}"
        case ev.CheckEnded(check_id=check):
            return f"check {_short(check)} was lost: its outcome cannot be known"
        case _:
            return None


def _exit(state: CheckExited) -> str:
    if state.timed_out:
        return f"timed out after {state.duration_s:.1f} s"
    if state.interrupted:
        return f"was interrupted after {state.duration_s:.1f} s"
    return f"exited with {state.exit_code} after {state.duration_s:.1f} s"


_WHY = {
    ev.RouteReason.ENTRY: "the entry",
    ev.RouteReason.NEXT: "next",
    ev.RouteReason.OTHERWISE: "otherwise",
    ev.RouteReason.DECISION: "decided",
    ev.RouteReason.JOIN: "every reviewer has ended",
    ev.RouteReason.INCOMPLETE: "the review is incomplete",
    ev.RouteReason.REVIEW_AGAIN: "to be reviewed again",
    ev.RouteReason.UNRESOLVED: "unresolved",
    ev.RouteReason.REPEAT_LIMIT: "its repeats are used up",
    ev.RouteReason.VISIT_LIMIT: "the run's visits are used up",
}


def _of_route(event: ev.RouteTaken) -> str:
    if event.from_node is None:
        return f"begin at {event.to}"
    why = f"rule '{event.rule}'" if event.reason is ev.RouteReason.RULE else _WHY[event.reason]
    terms = [term for rule in event.considered for term in rule.terms]
    looked = "; ".join(term_in_words(term) for term in terms[:4])
    more = f"; {len(terms) - 4} more" if len(terms) > 4 else ""
    return f"{event.from_node} → {event.to} ({why})" + (f" [{looked}{more}]" if terms else "")


def term_in_words(term: ConsideredTerm) -> str:
    """Return one comparison with what it found: ``check.tests.exit_code ne 0: yes, it is 1``."""
    value = "absent" if term.value is None else written(term.value)
    asked = f"{term.field} {term.operator}"
    if term.operator not in ("present", "absent"):
        asked += f" {written(term.operand)}"
    return f"{asked}: {'yes' if term.holds else 'no'}, it is {value}"


def written(value: JsonScalar | tuple[JsonScalar, ...]) -> str:
    """Return a value as an author writes it: ``[low, high]``, ``true``, ``3``, ``"two words"``."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)
    return shown(value)


def _of_attempt(event: ev.Event) -> str | None:
    match event:
        case ev.AttemptStarted(attempt_id=attempt):
            return f"attempt {_short(attempt)} scheduled"
        case ev.CredentialBound(attempt_id=attempt):
            return f"attempt {_short(attempt)} may report"
        case ev.AttemptLaunched(attempt_id=attempt):
            return f"attempt {_short(attempt)} launched"
        case ev.AttemptRefused(attempt_id=attempt, message=message, unknown=unknown):
            what = "may or may not have been launched" if unknown else "was not launched"
            return f"attempt {_short(attempt)} {what}: {message}"
        case ev.ReportAccepted(attempt_id=attempt, outcome=outcome, summary=summary):
            return f"attempt {_short(attempt)} claims {outcome}: {_one_line(summary)}"
        case ev.ReminderIssued(attempt_id=attempt):
            return f"attempt {_short(attempt)} went quiet without a report: it is reminded once"
        case ev.ReminderDelivered(attempt_id=attempt):
            return f"attempt {_short(attempt)} was reminded"
        case ev.AttemptTimedOut(attempt_id=attempt, limit=limit):
            waited = limit is ev.TimeLimit.ANSWER
            why = "was not answered by a person in time" if waited else "ran out of time"
            return f"attempt {_short(attempt)} {why}"
        case ev.WorkInterrupted(subject_id=subject, left=left):
            remain = f"; {left} processes are still there" if left else ""
            return f"{_short(subject)}: its processes were ended{remain}"
        case ev.AttemptSettled(attempt_id=attempt, outcome=outcome, reason=reason):
            return f"attempt {_short(attempt)} settled: {outcome}" + (
                f", {reason}" if reason else ""
            )
        case ev.AttemptResumed(attempt_id=attempt):
            return f"attempt {_short(attempt)} goes on"
        case ev.TurnUnknown(attempt_id=attempt, turn=turn, message=message):
            return f"whether the {turn} of {_short(attempt)} was taken cannot be known: {message}"
        case ev.ResumeRefused(attempt_id=attempt, message=message):
            return f"attempt {_short(attempt)} could not go on: {message}"
        case _:
            return None


def _of_people(event: ev.Event) -> str | None:
    match event:
        case ev.NativeRequestOpened(attempt_id=attempt, request=request):
            return (
                f"attempt {_short(attempt)} asks for {request.kind}: {_one_line(request.question)}"
            )
        case ev.NativeRequestAnswered(answered_by=who, allow=allow):
            return f"answered by {who}: {'allowed' if allow else 'denied'}"
        case ev.NativeRequestClosed(attempt_id=attempt):
            return f"attempt {_short(attempt)} no longer asks"
        case ev.ResumeRequested(requested_by=who, attempt_id=attempt):
            allowing = who or "the step's resume policy"
            return f"{allowing} lets attempt {_short(attempt)} go on"
        case ev.RetryRequested(requested_by=who, node=node):
            return f"{who} has {node} tried again"
        case ev.GateRequested(title=title, review=review):
            relied = f", relying on review {_short(review.review_set_id)}" if review else ""
            about = f" of {commit_in_short(review.frozen_commit)}" if review else ""
            return f"a person must decide: {title}{relied}{about}"
        case ev.RunSuspended(node=node):
            return f"waiting at {node}"
        case ev.GateDecided():
            return _of_decision(event)
        case _:
            return None


def _of_decision(event: ev.GateDecided) -> str:
    said = "approved" if event.decision == "approve" else "changes requested"
    as_ = f" ({', '.join(event.roles)})" if event.roles else ""
    note = f": {_one_line(event.note)}" if event.note else ""
    shown = [f"{_place(each)}: {_one_line(each.text, 80)}" for each in event.comments[:3]]
    more = f"; {len(event.comments) - 3} more" if len(event.comments) > 3 else ""
    comments = f" [{'; '.join(shown)}{more}]" if shown else ""
    return f"{said} by {event.decided_by}{as_}{note}{comments}"


def _place(comment: GateComment) -> str:
    return comment.path if comment.line is None else f"{comment.path}:{comment.line}"


def _one_line(text: str, chars_max: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= chars_max else line[: chars_max - 1] + "…"


_SIGNED = frozenset(
    {"node_entered", "route_taken", "report_accepted", "check_ended", "gate_decided"}
    | {"node_unresolved", "run_completed", "run_failed", "run_canceled"}
    | {"review_forked", "branch_ended", "join_committed"}
)


def uncommitted(paths: Sequence[str]) -> str:
    """Name the uncommitted files that a run begins without, the first few of them."""
    return f"the uncommitted {named(paths)}"


def trace_signature(entries: Iterable[TraceEntry]) -> tuple[tuple[Any, ...], ...]:
    """Return what a run did, without what differs from run to run (ids, times, paths).

    Two runs went the same way exactly if their signatures are equal: the same visits in the
    same order, the same routes for the same reasons, the same reports and decisions.
    """
    return tuple(_signed(entry) for entry in entries if entry.kind in _SIGNED)


def _signed(entry: TraceEntry) -> tuple[Any, ...]:
    data = entry.data
    match entry.kind:
        case "node_entered":
            return ("visit", data["node"], data["number"])
        case "route_taken":
            held = tuple((rule["name"], rule["holds"]) for rule in data["considered"])
            return ("route", data["from_node"], data["route"], data["reason"], data["to"], held)
        case "report_accepted":
            fields = tuple(sorted((name, repr(value)) for name, value in data["data"].items()))
            return ("report", _short(data["attempt_id"]), data["outcome"], fields)
        case "check_ended":
            return ("check", _short(data["check_id"]), data["state"].get("exit_code"))
        case "gate_decided":
            return ("gate", data["node"], data["decision"])
        case "review_forked":
            return ("fork", data["node"], tuple(each["branch"] for each in data["branches"]))
        case "branch_ended":
            return ("branch", _short(data["branch_id"]), data["outcome"], data["reason"])
        case "join_committed":
            return ("join", data["node"], data["outcome"])
        case "node_unresolved":
            return ("unresolved", data["node"], data["reason"])
        case _:
            return ("end", entry.kind)
