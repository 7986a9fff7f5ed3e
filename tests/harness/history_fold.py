"""What the SQL tables must hold: a plain fold of the journals for each, in Python."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pointsman.graph import events as ev
from pointsman.graph import ids
from pointsman.graph import review_events as rev
from pointsman.graph.definition import ParallelNode
from pointsman.graph.evolve import evolve
from pointsman.graph.project import project
from pointsman.graph.run import Run
from pointsman.graph.work import CheckExited
from pointsman.storage.history.tables import TABLES
from pointsman.storage.journal import Journal
from tests.harness.history_periods import attention_periods, intents
from tests.harness.history_rows import Row, Story, Tables, between, in_order, stories


def folded(journals: Mapping[str, Journal]) -> Tables:
    """Return the rows that every table must have."""
    tables: Tables = {table.name: [] for table in TABLES}
    for shard, journal in journals.items():
        for story in stories(shard, journal):
            for name, rows in FOLDS.items():
                tables[name] += rows(story)
        stored = journal.schedules.stored_occurrences()
        tables["occurrences"] += [_occurrence(shard, json.loads(each)) for each in stored]
    known = {each["definition_digest"]: each for each in tables["definitions"]}
    tables["definitions"] = list(known.values())
    return {name: in_order(rows) for name, rows in tables.items()}


def _first(said: dict[str, Any], *names: str) -> str | None:
    return next((said[name] for name in names if said.get(name)), None)


def _events(story: Story) -> Iterator[Row]:
    for position, events in story.steps:
        for each in events:
            said = each.event.model_dump(mode="json")
            said.pop("token_digest", None)
            subject = _first(said, "attempt_id", "check_id", "branch_id", "subject_id")
            visit = _first(said, "visit_id", "gate_id", "from_visit_id") or subject
            place = ids.place_of(visit) if visit else None
            yield {
                "shard": story.shard,
                "position": position,
                "run_id": each.run_id,
                "sequence": each.sequence,
                "occurred_at": each.at_ms,
                "kind": each.event.kind,
                "node": _first(said, "node", "from_node") or (place.node if place else None),
                "visit_id": place.visit if place else None,
                "attempt_id": _first(said, "attempt_id", "check_id", "subject_id"),
                "data": said,
            }


def _runs(story: Story) -> Iterator[Row]:
    start, run = story.start, story.run
    yield {
        "run_id": run.run_id,
        "shard": story.shard,
        "workflow_id": start.workflow.id,
        "workflow_name": start.workflow.name,
        "definition_digest": start.definition_digest,
        "definition_source": start.definition_source,
        "repository": start.repository,
        "base_commit": start.base_commit,
        "base_branch": start.base_branch,
        "inputs": start.inputs,
        "started_by": start.started_by,
        "started_at": story.told[0].at_ms,
        "updated_at": run.updated_at_ms,
        "ended_at": run.ended_at_ms,
        "state": run.state.value,
        "node": project(run).summary.node,
        "visits": sum(run.visit_counts.values()),
        "events": len(story.told),
        "duration_ms": between(run.started_at_ms, run.ended_at_ms),
    }


def _definitions(story: Story) -> Iterator[Row]:
    start = story.start
    yield {
        "definition_digest": start.definition_digest,
        "workflow_id": start.workflow.id,
        "workflow_name": start.workflow.name,
        "workflow": start.model_dump(mode="json")["workflow"],
    }


def _visits(story: Story) -> Iterator[Row]:
    rows: dict[str, Row] = {}
    last: Row = {"entered_at": None}
    for each in story.told:
        at_ms = each.at_ms
        match each.event:
            case ev.NodeEntered() as event:
                last |= {"left_at": at_ms, "duration_ms": between(last["entered_at"], at_ms)}
                last = rows[event.visit_id] = {
                    "run_id": each.run_id,
                    "visit_id": event.visit_id,
                    "node": event.node,
                    "kind": story.start.workflow.nodes[event.node].kind,
                    "number": event.number,
                    "entered_at": at_ms,
                    "completed_at": None,
                    "left_at": None,
                    "duration_ms": None,
                    "retries": 0,
                    "unresolved": 0,
                    "unresolved_reason": None,
                    "result": None,
                }
            case ev.NodeCompleted() as event:
                result = event.model_dump(mode="json")["result"]
                rows[event.visit_id] |= {"completed_at": at_ms, "result": result}
            case ev.NodeUnresolved(visit_id=key, reason=reason):
                rows[key]["unresolved"] += 1
                rows[key]["unresolved_reason"] = reason.value
            case ev.RetryRequested(visit_id=key):
                rows[ids.place_of(f"{key}.1").visit]["retries"] += 1
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCanceled():
                last |= {"left_at": at_ms, "duration_ms": between(last["entered_at"], at_ms)}
            case _:
                pass
    return iter(rows.values())


def _attempts(story: Story) -> Iterator[Row]:
    rows: dict[str, Row] = {}
    for each in story.told:
        match each.event:
            case ev.AttemptStarted() as event:
                rows[event.attempt_id] = _attempt(story, event, each.at_ms)
            case ev.AttemptLaunched(attempt_id=key):
                rows[key]["launched_at"] = each.at_ms
            case ev.ReportAccepted(attempt_id=key):
                rows[key]["reported_at"] = each.at_ms
            case ev.AttemptSettled(attempt_id=key, outcome=outcome, reason=reason):
                rows[key] |= {"settled_at": each.at_ms, "outcome": outcome.value, "reason": reason}
                rows[key]["duration_ms"] = between(rows[key]["launched_at"], each.at_ms)
                rows[key]["timed_out"] |= outcome.value == "timed_out"
            case ev.AttemptRefused(attempt_id=key, reason=reason):
                rows[key] |= {"outcome": "refused", "reason": reason}
            case ev.ResumeRequested(attempt_id=key):
                rows[key]["resumes"] += 1
            case ev.ReminderIssued(attempt_id=key):
                rows[key]["reminded"] = True
            case ev.AttemptTimedOut(attempt_id=key):
                rows[key]["timed_out"] = True
            case _:
                pass
    return iter(rows.values())


def _attempt(story: Story, event: ev.AttemptStarted, at_ms: int) -> Row:
    node, branch = story.start.workflow.nodes[event.node], ids.place_of(event.attempt_id).branch
    work = node.branches[branch] if isinstance(node, ParallelNode) and branch else node
    assert not isinstance(work, ParallelNode)
    agent = getattr(work, "agent")  # noqa: B009  an agent node or a branch
    return {
        "run_id": story.run.run_id,
        "attempt_id": event.attempt_id,
        "node": event.node,
        "visit_id": event.visit_id,
        "branch": branch,
        "try_number": event.try_number,
        "provider": agent.provider,
        "skill": agent.skill,
        "started_at": at_ms,
        "launched_at": None,
        "reported_at": None,
        "settled_at": None,
        "outcome": None,
        "reason": None,
        "resumes": 0,
        "reminded": False,
        "timed_out": False,
        "duration_ms": None,
    }


def _reports(story: Story) -> Iterator[Row]:
    for each in story.told:
        if isinstance(each.event, ev.ReportAccepted):
            said, place = each.event.model_dump(mode="json"), ids.place_of(each.event.attempt_id)
            yield {
                "run_id": each.run_id,
                "node": place.node,
                "visit_id": place.visit,
                "branch": place.branch,
                "accepted_at": each.at_ms,
                **_only(said, "attempt_id", "receipt_id", "outcome", "summary", "data", "evidence"),
            }


def _only(said: dict[str, Any], *names: str) -> Row:
    return {name: said[name] for name in names}


def _routes(story: Story) -> Iterator[Row]:
    for each in story.told:
        if isinstance(each.event, ev.RouteTaken):
            said = each.event.model_dump(mode="json")
            yield {
                "run_id": each.run_id,
                "sequence": each.sequence,
                "taken_at": each.at_ms,
                "to_node": each.event.to,
                **_only(said, "from_node", "from_visit_id", "route", "reason", "rule", "counted"),
            }


def _considered(story: Story) -> Iterator[Row]:
    for each in story.told:
        rules = each.event.considered if isinstance(each.event, ev.RouteTaken) else ()
        for rule_number, rule in enumerate(rules, start=1):
            for term_number, term in enumerate(rule.terms, start=1):
                yield {
                    "run_id": each.run_id,
                    "sequence": each.sequence,
                    "rule_number": rule_number,
                    "rule": rule.name,
                    "rule_holds": rule.holds,
                    "term_number": term_number,
                    **term.model_dump(mode="json"),
                }


def _checks(story: Story) -> Iterator[Row]:
    rows: dict[str, Row] = {}
    run: Run | None = None
    for each in story.told:
        run = evolve(run, each)
        match each.event:
            case ev.CheckStarted() as event:
                rows[event.check_id] = {
                    "run_id": each.run_id,
                    **_only(event.model_dump(), "check_id", "node", "visit_id", "try_number"),
                    "started_at": each.at_ms,
                    "launched_at": None,
                    "ended_at": None,
                    "outcome": None,
                    "exit_code": None,
                    "timed_out": None,
                    "interrupted": None,
                    "duration_s": None,
                    "head_commit": run.head_commit,
                }
            case ev.CheckLaunched(check_id=key):
                rows[key]["launched_at"] = each.at_ms
            case ev.CheckRefused(check_id=key):
                rows[key] |= {"ended_at": each.at_ms, "outcome": "refused"}
            case ev.CheckEnded(check_id=key, state=state):
                rows[key] |= {"ended_at": each.at_ms, "outcome": state.state}
                if isinstance(state, CheckExited):
                    names = ("exit_code", "timed_out", "interrupted", "duration_s")
                    rows[key] |= _only(state.model_dump(), *names)
            case _:
                pass
    return iter(rows.values())


def _joins(story: Story) -> Iterator[Row]:
    for each in story.told:
        if isinstance(each.event, rev.JoinCommitted):
            names = ("node", "visit_id", "review_set_id", "frozen_commit", "outcome", "detail")
            yield {
                "run_id": each.run_id,
                "joined_at": each.at_ms,
                "branches": len(each.event.branches),
                **_only(each.event.model_dump(mode="json"), *names),
            }


def _branches(story: Story) -> Iterator[Row]:
    rows: dict[str, Row] = {}
    for each in story.told:
        match each.event:
            case rev.ReviewForked() as event:
                for forked in event.branches:
                    rows[forked.branch_id] = {
                        "run_id": each.run_id,
                        "branch_id": forked.branch_id,
                        "branch": forked.branch,
                        "forked_at": each.at_ms,
                        "ended_at": None,
                        "outcome": None,
                        "reason": None,
                        "duration_ms": None,
                        "node": event.node,
                        "visit_id": event.visit_id,
                        "review_set_id": event.review_set_id,
                        "frozen_commit": event.frozen_commit,
                    }
            case rev.BranchEnded(branch_id=key) as event:
                rows[key] |= _only(event.model_dump(mode="json"), "outcome", "reason")
                lasted = between(rows[key]["forked_at"], each.at_ms)
                rows[key] |= {"ended_at": each.at_ms, "duration_ms": lasted}
            case _:
                pass
    return iter(rows.values())


def _gates(story: Story) -> Iterator[Row]:
    rows: dict[str, Row] = {}
    for each in story.told:
        match each.event:
            case ev.GateRequested(gate_id=key) as event:
                names = ("gate_id", "node", "title", "offered", "head_commit")
                rows[key] = {
                    "run_id": each.run_id,
                    "opened_at": each.at_ms,
                    "decided_at": None,
                    "decision": None,
                    "waited_ms": None,
                    **_only(event.model_dump(mode="json"), *names),
                }
            case ev.GateDecided(gate_id=key, decision=decision):
                waited = between(rows[key]["opened_at"], each.at_ms)
                decided = {"decided_at": each.at_ms, "decision": decision.value}
                rows[key] |= {**decided, "waited_ms": waited}
            case _:
                pass
    return iter(rows.values())


def _decisions(story: Story) -> Iterator[Row]:
    for each in story.told:
        if isinstance(each.event, ev.GateDecided):
            names = ("gate_id", "node", "decision", "decided_by", "note", "comments")
            yield {
                "run_id": each.run_id,
                "decided_at": each.at_ms,
                "commit_id": each.event.commit,
                **_only(each.event.model_dump(mode="json"), *names),
            }


def _occurrence(shard: str, said: dict[str, Any]) -> Row:
    names = ("occurrence_id", "schedule_id", "state", "run_id", "asked_by", "wish")
    return {
        "shard": shard,
        "trigger_kind": said["trigger"],
        "slot_at": said["slot_ms"],
        "created_at": said["created_at_ms"],
        "settled_at": said["settled_at_ms"],
        "reason_code": (said["reason"] or {}).get("code"),
        **_only(said, *names),
    }


FOLDS: Final[Mapping[str, Callable[[Story], Iterator[Row]]]] = {
    "events": _events,
    "runs": _runs,
    "visits": _visits,
    "attempts": _attempts,
    "reports": _reports,
    "routes": _routes,
    "considered": _considered,
    "checks": _checks,
    "joins": _joins,
    "branches": _branches,
    "gates": _gates,
    "decisions": _decisions,
    "attention_periods": attention_periods,
    "intents": intents,
    "definitions": _definitions,
}
