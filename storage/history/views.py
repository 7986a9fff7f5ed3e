"""The views of the history as data: the questions that are asked most, each with its columns."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class View:
    """One view, what it answers, and what each of its columns tells."""

    name: str
    doc: str
    meanings: tuple[tuple[str, str], ...]


VIEWS: Final = (
    View(
        "time_per_node",
        "Where time goes: how long visits of each node took.",
        (
            ("workflow_id", "The workflow."),
            ("node", "The node."),
            ("kind", "The kind of the node."),
            ("visits", "How many visits have ended."),
            ("total_s", "Seconds of all of them."),
            ("median_s", "Seconds of the middle one."),
            ("longest_s", "Seconds of the longest."),
        ),
    ),
    View(
        "rework_rate",
        "How much work was done again: visits of agents and checks beyond the first of each node.",
        (
            ("workflow_id", "The workflow."),
            ("runs", "How many runs there are."),
            ("runs_with_rework", "Runs in which a node was entered again."),
            ("visits", "Visits of agents and checks."),
            ("repeated_visits", "Those that were not the first of their node."),
            ("rate", "The share of repeated visits."),
        ),
    ),
    View(
        "reviewer_verdicts",
        "What reviewers, by name and skill, came to.",
        (
            ("workflow_id", "The workflow."),
            ("node", "The group."),
            ("branch", "The reviewer."),
            ("skill", "The skill the reviewer used."),
            ("branches", "How many reviews were asked for."),
            ("completed", "How many completed."),
            ("failed", "How many failed."),
            ("unresolved", "How many stayed unresolved."),
            ("canceled", "How many were canceled."),
        ),
    ),
    View(
        "slowest_gates",
        "Which gates people let wait the longest.",
        (
            ("workflow_id", "The workflow."),
            ("node", "The gate."),
            ("decided", "How often it was decided."),
            ("undecided", "How often it was not, or not yet."),
            ("median_s", "Seconds until the decision, in the middle."),
            ("longest_s", "Seconds until the slowest decision."),
        ),
    ),
    View(
        "unresolved_reasons",
        "Why visits were unresolved.",
        (
            ("workflow_id", "The workflow."),
            ("node", "The node."),
            ("reason", "The reason."),
            ("times", "How often."),
            ("runs", "In how many runs."),
        ),
    ),
    View(
        "flaky_checks",
        "Checks that passed and failed on the same commit: their outcome changed, and no work did.",
        (
            ("workflow_id", "The workflow."),
            ("node", "The check."),
            ("commits_checked_again", "Commits of a run on which it was started more than once."),
            ("commits_changed", "Those on which passing and failing, or too late, both occurred."),
            ("rate", "The share of the latter."),
        ),
    ),
    View(
        "attention_by_kind",
        "What waits for people, by kind, and how long things have waited.",
        (
            ("kind", "The kind."),
            ("open", "How many wait."),
            ("oldest", "Since when the oldest of these waits."),
            ("closed", "How many waited and are done."),
            ("median_waited_s", "Seconds these waited, in the middle."),
        ),
    ),
    View(
        "routes_per_decision",
        "Which way decisions went.",
        (
            ("workflow_id", "The workflow."),
            ("node", "The node that was left."),
            ("route", "The edge."),
            ("reason", "Why it was taken."),
            ("to_node", "Where it leads."),
            ("times", "How often."),
            ("share", "Of all times this node was left."),
        ),
    ),
    View(
        "reports_by_outcome",
        "What agents claim of their work.",
        (
            ("workflow_id", "The workflow."),
            ("node", "The node."),
            ("outcome", "The claim."),
            ("reports", "How many."),
        ),
    ),
    View(
        "report_fields",
        "The declared fields of reports, a row each, as text, number or truth by their type.",
        (
            ("run_id", "The run."),
            ("attempt_id", "The attempt."),
            ("field", "The field."),
            ("text", "Its value if it is a text."),
            ("number", "Its value if it is a number."),
            ("truth", "Its value if it is true or false."),
        ),
    ),
)
