"""What an editor says of each key of the workflow format, in a sentence or two.

By the model's name, then the key; ``ANY`` holds what a key means wherever it stands. A test
sees to it that no key goes without words.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ANY: Final = "*"

_NODES: Final = {
    ANY: {
        "kind": "What the node is: agent, check, decision, parallel, join, gate or end.",
        "title": "What people read in place of the node's name.",
        "next": "The node that follows once this one has ended well.",
        "unresolved": "The node that follows when this one has no result (its work failed, timed"
        " out, was interrupted or left no report). Without it the run waits for a person.",
        "review": "The join whose review this node relies on: the head must still be the commit"
        " that was reviewed.",
        "repeat": "How often this route may be taken in one run, and where it leads after that."
        " Every way back in a workflow needs one.",
        "inputs": "What the agent is given, by name: a path such as run.input.task,"
        " report.<node>.<field>, check.<node> or gate.<node>.note.",
        "report": "The data fields of the agent's report, beside outcome and summary.",
        "agent": "Who does the work, and how.",
        "env": "Environment variables, beside those of the workspace.",
        "description": "A longer text for people.",
        "to": "The node that follows.",
        "answer_within": "How long a question of the agent may wait for a person, such as 4h;"
        " after that its work is ended. Without it, it waits as long as it takes.",
    },
    "AgentNode": {
        "instructions": "What the agent is told to do. Its inputs and how to report are added.",
        "timeout": "How long the agent may work, such as 90s, 10m or 2h; default 2h. It stands"
        " still while a person is asked.",
        "resume": "How often a session whose process was lost goes on by itself.",
    },
    "AgentResume": {"max": "At most how often, for one try."},
    "CheckNode": {
        "run": "The command: a list of a program and its arguments, or one line for the shell.",
        "folder": "Where it runs, below the workspace's folder.",
        "timeout": "How long it may run, such as 90s, 10m or 2h; default 10m.",
        "retry": "When it may be started again by itself. Without it a check never runs twice.",
        "next": "The node that follows, whatever the exit code: a decision reads"
        " check.<node>.exit_code. A timeout or an interruption never goes this way.",
    },
    "CheckRetry": {
        "max": "At most how often it is started again in one visit.",
        "after": "After what: timeout, interrupted (its process was lost), or both.",
    },
    "DecisionNode": {
        "rules": "Looked at in order; the first whose condition holds is taken.",
        "otherwise": "The node that follows when no rule holds.",
    },
    "Rule": {
        "name": "A short sentence; the trace tells routes by it.",
        "when": "The condition: {field: PATH, ne: 0}, or all: / any: over several.",
    },
    "ParallelNode": {
        "freeze": "What is reviewed: workspace (the committed head), or {input: NAME} with a run"
        " input that names a branch or a pull request's ref.",
        "setup": "Whether the workspace's set-up is run in each reviewer's worktree too.",
        "uncommitted": "What becomes of uncommitted changes: refuse (default), ignore or commit.",
        "branches": "The reviewers by name; each must complete.",
        "join": "The join node that waits for all of them.",
        "unresolved": "The node that follows when nothing could be frozen.",
    },
    "Branch": {
        "instructions": "What this reviewer is told to do.",
        "focus": "What this reviewer looks for, in a few words.",
        "timeout": "How long the reviewer may work, such as 45m; default 2h. It stands still while"
        " a person is asked.",
        "deadline": "When it must be over, counted from its launch, such as 90m; default 2h. It"
        " never stands still.",
        "resume": "How often a session whose process was lost goes on by itself.",
    },
    "FrozenInput": {
        "input": "The run input that names the change: type string, required.",
        "remote": "Where it lies: a remote of the repository, or . for the repository itself;"
        " default origin, if there is one.",
    },
    "JoinNode": {
        "of": "The parallel group whose reviewers are waited for.",
        "next": "The node that follows when every reviewer has completed.",
        "incomplete": "The node that follows when a reviewer failed, was canceled or stayed"
        " unresolved, or when the head changed. Without it the run waits for a person.",
    },
    "GateNode": {
        "title": "What a person is asked to decide.",
        "decide": "Who may decide; without it everyone who may act on the run.",
        "decisions": "Where each decision leads. Without approve, an approval completes the run.",
    },
    "GateDecisions": {
        "approve": "The node that follows an approval; without it the run is completed.",
        "request_changes": "The node that follows a request for changes; without it none can be"
        " made here.",
    },
    "GateDeciders": {
        "roles": "Roles of which anyone may decide.",
        "people": "People who may decide, by name.",
    },
    "EndNode": {"result": "How the run ends: completed (default) or failed."},
}

_PARTS: Final = {
    "AgentChoice": {
        "provider": "The agent's harness, such as claude, codex, opencode or scripted.",
        "mode": "edit (default): it may change the workspace; review: it only reads.",
        "skill": "The skill it shall use, by its name in the project or the harness.",
        "model": "The model, in the harness's own words; without it the harness's default.",
        "options": "Settings of the provider itself, such as script for scripted.",
    },
    "ReportContract": {"fields": "The declared fields by name; decisions can read each."},
    "FieldDeclaration": {
        "type": "boolean, number, string or enum.",
        "values": "The values of an enum; for type enum only.",
        "required": "Whether it must be given: in a report, for outcome completed.",
    },
    "Repeat": {
        "max": "At most how often in one run.",
        "at_limit": "The gate or end that follows when it was taken that often.",
    },
    "InputBinding": {
        "from": "The path that is read when the node is entered.",
        "optional": "Whether it may be absent. A required one without a value keeps the node"
        " from starting.",
    },
    "FieldTest": {
        "field": "The path of one value, such as check.<node>.exit_code or report.<node>.risk.",
        "eq": "Holds when the value is this one. Texts compare exactly.",
        "ne": "Holds when there is a value, and it is another one.",
        "in": "Holds when the value is one of these.",
        "lt": "Holds when the number is less.",
        "le": "Holds when the number is less or the same.",
        "gt": "Holds when the number is greater.",
        "ge": "Holds when the number is greater or the same.",
        "present": "Holds when there is a value.",
        "absent": "Holds when there is none.",
    },
    "AllOf": {"all": "Holds when each of these holds."},
    "AnyOf": {"any": "Holds when at least one of these holds."},
    "VisitBound": {
        "max": "At most how many nodes one run enters; default 100.",
        "at_limit": "The gate or end that follows when they are used up.",
    },
    "SetupCommand": {
        "run": "The command: a list of a program and its arguments, or one line for the shell.",
        "timeout": "How long it may run, such as 90s, 10m or 2h; default 10m.",
    },
    "WorkspaceSetup": {
        "copy": "Files of the repository's folder that git does not carry, such as .env.",
        "setup": "Commands that run once in a fresh workspace, in order.",
        "checks": "Commands that must exit with 0 before the first agent starts.",
        "env": "Environment variables for set-up, checks and agents.",
    },
    "Workflow": {
        "pointsman": "The version of this format: 1.",
        "id": "The workflow's name: runs are started by it.",
        "revision": "Counts the author's editions; each run keeps the one it was started with.",
        "name": "What people read, in a few words.",
        "inputs": "What a run is started with, by name.",
        "workspace": "How a run's own worktree is made ready before the first agent.",
        "entry": "The node a run begins with.",
        "visits": "The bound on all nodes a run enters, and where it leads when they are used up.",
        "nodes": "The steps by name.",
    },
}

WORDS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({**_NODES, **_PARTS})


def words_for(model: str, key: str) -> str | None:
    """Return what a key of a model means, or ``None`` when nothing was written for it."""
    return WORDS.get(model, {}).get(key) or WORDS[ANY].get(key)
