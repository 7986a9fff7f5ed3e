"""The tables of the history as data: the DDL and the documentation are made from the same words."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its DuckDB type, and what it tells."""

    name: str
    type: str
    doc: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table, and what a row of it is."""

    name: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def meanings(self) -> tuple[tuple[str, str], ...]:
        """Each column's name, and what it tells."""
        return tuple((each.name, each.doc) for each in self.columns)

    @property
    def ddl(self) -> str:
        """The statement that makes the table."""
        columns = ", ".join(f"{each.name} {each.type}" for each in self.columns)
        return f"CREATE TABLE {self.name} ({columns})"


RUN: Final = Column("run_id", "VARCHAR", "The run.")
NODE: Final = Column("node", "VARCHAR", "The node of the workflow.")
VISIT: Final = Column("visit_id", "VARCHAR", "The visit: one admitted entry of the node.")
ATTEMPT: Final = Column("attempt_id", "VARCHAR", "The attempt: one try of an agent.")
BRANCH: Final = Column("branch", "VARCHAR", "The reviewer's name in its group; empty elsewhere.")
SEQUENCE: Final = Column("sequence", "BIGINT", "The place of the event in its run, from 0.")

EVENTS: Final = Table(
    "events",
    "One event of a run, as the journal has it; every other table of runs follows from these.",
    (
        Column("shard", "VARCHAR", "The shard whose journal holds the run."),
        Column("position", "BIGINT", "The transition's place in the shard's log."),
        RUN,
        SEQUENCE,
        Column("occurred_at", "TIMESTAMP", "When it happened, in UTC."),
        Column("kind", "VARCHAR", "What happened, such as node_entered; damaged: unreadable."),
        NODE,
        VISIT,
        Column("attempt_id", "VARCHAR", "The attempt, or the start of a check, it is about."),
        Column("data", "JSON", "The whole event; digests of tokens are left out."),
    ),
)

RUNS: Final = Table(
    "runs",
    "One run as it is now.",
    (
        RUN,
        Column("shard", "VARCHAR", "The shard whose journal holds the run."),
        Column("workflow_id", "VARCHAR", "The id of its workflow."),
        Column("workflow_name", "VARCHAR", "The name of its workflow."),
        Column("definition_digest", "VARCHAR", "Which definition it is judged by."),
        Column("definition_source", "VARCHAR", "Where the definition was read."),
        Column("repository", "VARCHAR", "The repository it works on."),
        Column("base_commit", "VARCHAR", "The commit it began at."),
        Column("base_branch", "VARCHAR", "The branch it began at, if any."),
        Column("inputs", "JSON", "What it was started with."),
        Column("started_by", "VARCHAR", "Who started it."),
        Column("started_at", "TIMESTAMP", "When it was started, in UTC."),
        Column("updated_at", "TIMESTAMP", "When its last event happened."),
        Column("ended_at", "TIMESTAMP", "When it ended; empty while it goes on."),
        Column(
            "state",
            "VARCHAR",
            "running, awaiting_review, unresolved, completed, failed or canceled.",
        ),
        Column("node", "VARCHAR", "The node it is at, or ended at."),
        Column("visits", "BIGINT", "How many visits it made."),
        Column("events", "BIGINT", "How many events it has."),
        Column("duration_ms", "BIGINT", "From its start to its end."),
    ),
)

VISITS: Final = Table(
    "visits",
    "One admitted entry of a node.",
    (
        RUN,
        VISIT,
        NODE,
        Column("kind", "VARCHAR", "The kind of the node: agent, check, gate and so on."),
        Column("number", "BIGINT", "Which entry of this node it is, from 1."),
        Column("entered_at", "TIMESTAMP", "When it was entered."),
        Column("completed_at", "TIMESTAMP", "When it ended well; empty otherwise."),
        Column("left_at", "TIMESTAMP", "When the run went on or ended."),
        Column("duration_ms", "BIGINT", "From entering to leaving it."),
        Column("retries", "BIGINT", "How often a person had it tried again."),
        Column("unresolved", "BIGINT", "How often it was unresolved."),
        Column("unresolved_reason", "VARCHAR", "Why it was unresolved the last time."),
        Column("result", "JSON", "What later nodes read of it."),
    ),
)

ATTEMPTS: Final = Table(
    "attempts",
    "One try of an agent, a reviewer's too.",
    (
        RUN,
        ATTEMPT,
        NODE,
        VISIT,
        BRANCH,
        Column("try_number", "BIGINT", "Which try of the visit or branch it is, from 1."),
        Column("provider", "VARCHAR", "The agent's provider."),
        Column("skill", "VARCHAR", "The agent's skill, if any."),
        Column("started_at", "TIMESTAMP", "When it was scheduled."),
        Column("launched_at", "TIMESTAMP", "When the host took it."),
        Column("reported_at", "TIMESTAMP", "When its report was accepted."),
        Column("settled_at", "TIMESTAMP", "When its work was quiet for the last time."),
        Column("outcome", "VARCHAR", "How its work settled the last time, or refused."),
        Column("reason", "VARCHAR", "Why it did not settle well."),
        Column("resumes", "BIGINT", "How often its session was asked to go on."),
        Column("reminded", "BOOLEAN", "Whether it was reminded to report."),
        Column("timed_out", "BOOLEAN", "Whether a limit came."),
        Column("duration_ms", "BIGINT", "From its launch to its last settlement."),
    ),
)

REPORTS: Final = Table(
    "reports",
    "One accepted report: an agent's claim.",
    (
        RUN,
        ATTEMPT,
        NODE,
        VISIT,
        BRANCH,
        Column("receipt_id", "VARCHAR", "The receipt the agent was given."),
        Column("accepted_at", "TIMESTAMP", "When it was accepted."),
        Column("outcome", "VARCHAR", "completed, blocked or failed."),
        Column("summary", "VARCHAR", "What the agent says in a sentence."),
        Column("data", "JSON", "The declared fields: data->>'name' reads one."),
        Column("evidence", "JSON", "What the agent points at."),
    ),
)

ROUTES: Final = Table(
    "routes",
    "One edge that was taken.",
    (
        RUN,
        SEQUENCE,
        Column("taken_at", "TIMESTAMP", "When it was taken."),
        Column("from_node", "VARCHAR", "Where it left; empty for the entry."),
        Column("from_visit_id", "VARCHAR", "The visit it left."),
        Column("to_node", "VARCHAR", "Where it leads."),
        Column("route", "VARCHAR", "The name of the edge."),
        Column("reason", "VARCHAR", "Why it was taken: rule, otherwise, decision and so on."),
        Column("rule", "VARCHAR", "The rule that held, if a rule chose it."),
        Column("counted", "BOOLEAN", "Whether its repeat counter rose."),
    ),
)

CONSIDERED: Final = Table(
    "considered",
    "One comparison of a rule that was considered for a route.",
    (
        RUN,
        SEQUENCE,
        Column("rule_number", "BIGINT", "Which rule of the decision, from 1."),
        Column("rule", "VARCHAR", "The name of the rule."),
        Column("rule_holds", "BOOLEAN", "Whether the rule as a whole held."),
        Column("term_number", "BIGINT", "Which comparison of the rule, from 1."),
        Column("field", "VARCHAR", "What was compared."),
        Column("operator", "VARCHAR", "How it was compared."),
        Column("operand", "JSON", "What it was compared with."),
        Column("value", "JSON", "What the field was; null if it was absent."),
        Column("holds", "BOOLEAN", "Whether the comparison held."),
    ),
)

CHECKS: Final = Table(
    "checks",
    "One start of a check's command.",
    (
        RUN,
        Column("check_id", "VARCHAR", "The start."),
        NODE,
        VISIT,
        Column("try_number", "BIGINT", "Which start in the visit, from 1."),
        Column("started_at", "TIMESTAMP", "When it was scheduled."),
        Column("launched_at", "TIMESTAMP", "When the host took it."),
        Column("ended_at", "TIMESTAMP", "When its end was known."),
        Column("outcome", "VARCHAR", "exited, lost or refused; empty while it runs."),
        Column("exit_code", "BIGINT", "The command's exit code."),
        Column("timed_out", "BOOLEAN", "Whether its time ran out."),
        Column("interrupted", "BOOLEAN", "Whether it was ended from outside."),
        Column("duration_s", "DOUBLE", "How long the command ran."),
        Column("head_commit", "VARCHAR", "The last known commit of the run's worktree before it."),
    ),
)

JOINS: Final = Table(
    "joins",
    "One result of a review set.",
    (
        RUN,
        NODE,
        VISIT,
        Column("review_set_id", "VARCHAR", "The review set."),
        Column("frozen_commit", "VARCHAR", "The commit that was reviewed."),
        Column("joined_at", "TIMESTAMP", "When it was committed."),
        Column("outcome", "VARCHAR", "all_completed, stale, failed, unresolved or canceled."),
        Column("branches", "BIGINT", "How many reviewers were counted."),
        Column("detail", "VARCHAR", "The outcome in words."),
    ),
)

BRANCHES: Final = Table(
    "branches",
    "One reviewer of a review set.",
    (
        RUN,
        Column("branch_id", "VARCHAR", "The branch."),
        Column("node", "VARCHAR", "Its group."),
        VISIT,
        BRANCH,
        Column("review_set_id", "VARCHAR", "The review set."),
        Column("frozen_commit", "VARCHAR", "The commit to review."),
        Column("forked_at", "TIMESTAMP", "When it was forked."),
        Column("ended_at", "TIMESTAMP", "When it ended; empty while it is open."),
        Column("outcome", "VARCHAR", "completed, failed, unresolved or canceled."),
        Column("reason", "VARCHAR", "Why it did not complete."),
        Column("duration_ms", "BIGINT", "From the fork to its end."),
    ),
)

GATES: Final = Table(
    "gates",
    "One gate that was opened.",
    (
        RUN,
        Column("gate_id", "VARCHAR", "The gate; also the id of its visit."),
        NODE,
        Column("title", "VARCHAR", "What is asked."),
        Column("offered", "JSON", "The decisions it offered."),
        Column("head_commit", "VARCHAR", "The commit it is about."),
        Column("opened_at", "TIMESTAMP", "When it was opened."),
        Column("decided_at", "TIMESTAMP", "When it was decided; empty if it was not."),
        Column("decision", "VARCHAR", "approve or request_changes."),
        Column("waited_ms", "BIGINT", "From opening to the decision."),
    ),
)

DECISIONS: Final = Table(
    "decisions",
    "One decision of a person at a gate.",
    (
        RUN,
        Column("gate_id", "VARCHAR", "The gate."),
        NODE,
        Column("decision", "VARCHAR", "approve or request_changes."),
        Column("decided_at", "TIMESTAMP", "When it was made."),
        Column("decided_by", "VARCHAR", "Who decided."),
        Column("note", "VARCHAR", "What the person wrote."),
        Column("comments", "JSON", "Remarks on places of the change."),
        Column("commit_id", "VARCHAR", "The commit the decision is about."),
    ),
)

ATTENTION_PERIODS: Final = Table(
    "attention_periods",
    "One time in which something waited for a person.",
    (
        RUN,
        Column("item_id", "VARCHAR", "What waited."),
        Column("kind", "VARCHAR", "awaiting_review, unresolved, native_request, processes_left."),
        NODE,
        BRANCH,
        Column("opened_at", "TIMESTAMP", "Since when it waited."),
        Column("closed_at", "TIMESTAMP", "Until when; empty while it waits."),
        Column("waited_ms", "BIGINT", "How long it waited; empty while it waits."),
    ),
)

INTENTS: Final = Table(
    "intents",
    "One time in which something was owed to the host; what is open is the journal's outbox.",
    (
        RUN,
        Column("intent_id", "VARCHAR", "The order; also the host's idempotency key."),
        Column("kind", "VARCHAR", "What was ordered, such as launch_execution."),
        Column("subject_id", "VARCHAR", "The attempt, check, visit or worktree it is about."),
        Column("opened_at", "TIMESTAMP", "When it became owed."),
        Column("closed_at", "TIMESTAMP", "When it was answered or no longer owed."),
        Column("outcome", "VARCHAR", "done, refused, or withdrawn before it was answered."),
    ),
)

DEFINITIONS: Final = Table(
    "definitions",
    "One definition that a run was started with.",
    (
        Column("definition_digest", "VARCHAR", "The digest of its canonical form."),
        Column("workflow_id", "VARCHAR", "The id of the workflow."),
        Column("workflow_name", "VARCHAR", "Its name."),
        Column("workflow", "JSON", "The whole workflow."),
    ),
)

OCCURRENCES: Final = Table(
    "occurrences",
    "One wish of a schedule, a person or a host to start a run.",
    (
        Column("shard", "VARCHAR", "The shard that keeps it."),
        Column("occurrence_id", "VARCHAR", "The wish."),
        Column("schedule_id", "VARCHAR", "Its schedule, if any."),
        Column("trigger_kind", "VARCHAR", "slot, manual or host."),
        Column("slot_at", "TIMESTAMP", "The slot it is for, in UTC."),
        Column("created_at", "TIMESTAMP", "When it was made."),
        Column("settled_at", "TIMESTAMP", "When it had its answer."),
        Column("state", "VARCHAR", "pending, dispatched, refused or skipped."),
        Column("run_id", "VARCHAR", "The run it started."),
        Column("asked_by", "VARCHAR", "Who asked."),
        Column("reason_code", "VARCHAR", "Why it started nothing."),
        Column("wish", "JSON", "What the start was asked for."),
    ),
)

# In the order they are derived: a later one may read an earlier one.
OF_RUNS: Final = (
    VISITS,
    ATTEMPTS,
    REPORTS,
    ROUTES,
    CONSIDERED,
    CHECKS,
    JOINS,
    BRANCHES,
    GATES,
    DECISIONS,
    ATTENTION_PERIODS,
    INTENTS,
    RUNS,
)
TABLES: Final = (EVENTS, *OF_RUNS, DEFINITIONS, OCCURRENCES)
