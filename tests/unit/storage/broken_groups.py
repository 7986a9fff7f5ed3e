"""Broken parallel groups, joins, reviews and gates, each with its code and its marked place."""

from tests.unit.storage.broken_definitions import HEAD, LAST, agent

GROUP = """\
  g:
    kind: parallel
    freeze: workspace
    branches:
      code: {agent: {provider: codex, mode: review, skill: code-review}, report: {fields: {ok: {type: boolean}}}}
      ux-look: {agent: {provider: claude, mode: review}, focus: looks}
    join: j
"""  # noqa: E501
JOIN = "  j: {kind: join, of: g, next: v, incomplete: h}\n"
VERDICT = """\
  v:
    kind: decision
    rules:
      - {name: r, when: {field: join.j.code.ok, eq: true}, to: z}
    otherwise: h
"""
LOOK = "  h: {kind: gate, title: Look, decisions: {request_changes: z}}\n"
REST = JOIN + VERDICT + LOOK + LAST
WORK = agent("a", following="g")


def whole(group: str = GROUP, rest: str = REST, first: str = WORK, head: str = HEAD) -> str:
    return head + first + group + rest


def group(old: str, new: str) -> str:
    assert old in GROUP
    return whole(group=GROUP.replace(old, new))


def rest(old: str, new: str) -> str:
    assert old in REST
    return whole(rest=REST.replace(old, new))


def input_head(declared: str) -> str:
    return f"inputs: {{pr: {declared}}}\n" + HEAD


FROM_INPUT = GROUP.replace("freeze: workspace", "freeze: {input: ‸pr}")
SECOND = GROUP.replace("  g:", "  k:", 1).replace("join: j", "join: ‸j")

GROUPS = {
    "no branches": ("too_few", whole(group="  g:\n    kind: parallel\n    freeze: workspace\n"
                                     "    ‸branches: {}\n    join: j\n")),
    "no join": ("missing_key", group("    join: j\n", "").replace("  g:", "  ‸g:")),
    "nothing frozen": ("missing_key", group(
        "    freeze: workspace\n", "").replace("  g:", "  ‸g:")),
    "frozen by a word": ("unknown_value", group("workspace", "‸worktree")),
    "frozen by a list": ("unknown_value", group("    freeze: workspace", "    ‸freeze: [x]")),
    "an unknown policy": ("unknown_value", group("    join", "    uncommitted: ‸stash\n    join")),
    "a bad branch id": ("bad_key", group("ux-look:", "‸UX:")),
    "a branch twice": ("duplicate_key", group("ux-look:", "‸code:")),
    "a branch that routes": ("unknown_key", group("focus: looks", "focus: looks, ‸next: z")),
    "a branch without provider": ("missing_key", group("{provider: claude, ", "{")
                                  .replace("look: {agent", "look: {‸agent")),
    "a short deadline": ("out_of_range", group("focus: looks", "focus: looks, deadline: ‸30s")),
    "a long deadline": ("out_of_range", group("focus: looks", "focus: looks, deadline: ‸25h")),
    "a deadline in words": ("wrong_type", group("focus: looks", "focus: looks, deadline: ‸later")),
    "a join that waits for some": ("unknown_key", rest("of: g,", "of: g, ‸wait: any,")),
    "a join of nothing": ("missing_key", rest("j: {kind: join, of: g,", "‸j: {kind: join,")),
    "a join without next": ("missing_key", rest("j: {kind: join, of: g, next: v,",
                                                "‸j: {kind: join, of: g,")),
    "a dangling group": ("unknown_target", group("join: j", "join: ‸jj")),
    "a group joined by a gate": ("not_a_join", whole(group=GROUP.replace("join: j", "join: ‸h"))),
    "a join over no node": ("unknown_target", whole(
        group="", rest=JOIN.replace("of: g", "of: ‸q") + "  v: {kind: decision, otherwise: h}\n"
        + LOOK + LAST, first=agent("a", following="v"))),
    "a join over an agent": ("not_a_group", whole(
        group="", rest=JOIN.replace("of: g", "of: ‸a") + "  v: {kind: decision, otherwise: h}\n"
        + LOOK + LAST, first=agent("a", following="v"))),
    "a join over another fork": ("join_mismatch", whole(
        rest=REST + SECOND.replace("join: ‸j", "join: i")
        + "  i: {kind: join, of: ‸g, next: z}\n".replace("‸g", "k")
        + "  x: {kind: join, of: ‸g, next: z}\n")),
    "two groups that share a join": ("join_mismatch", whole(
        rest=REST + SECOND, first=agent("a", more=", unresolved: k", following="g"))),
    "a join entered by a route": (
        "join_entered", whole(first=agent("a", more=", unresolved: ‸j", following="g"))),
    "a join entered by a limit": ("limit_destination_automated", whole(
        first=agent("a", following="{to: g, repeat: {max: 1, at_limit: ‸j}}"))),
    "a join as the entry": ("join_entered", whole(
        head=HEAD.replace("entry: a", "entry: ‸j"), first="",
        rest=JOIN + "  v: {kind: decision, otherwise: {to: g, repeat: {max: 1, at_limit: h}}}\n"
        + LOOK + LAST)),
    "a group as the whole-run exit": (
        "limit_destination_automated", whole(head="visits: {at_limit: ‸g}\n" + HEAD)),
    "a group entered from inside itself": ("group_inside_itself", group(
        "    join: j", "    unresolved: {to: ‸g, repeat: {max: 1, at_limit: h}}\n    join: j")),
    "a group and its join going round": (
        "unbounded_cycle", rest("incomplete: h", "incomplete: ‸g")),
    "an edge too many": ("too_many_edges", whole(
        head=HEAD.replace("nodes:", "‸nodes:"), rest=REST.replace(
            "    otherwise: h\n", "".join(
                f"      - {{name: n{n}, when: {{field: join.j.outcome, present: true}}, to: z}}\n"
                for n in range(128 - 1)) + "    otherwise: w\n")
        + "  w:\n    kind: decision\n    rules:\n" + "".join(
            f"      - {{name: n{n}, when: {{field: join.j.outcome, present: true}}, to: z}}\n"
            for n in range(122)) + "    otherwise: h\n")),
    "an input nobody gives": ("freeze_input", whole(group=FROM_INPUT)),
    "an input that may be missing": (
        "freeze_input", whole(group=FROM_INPUT, head=input_head("{type: string}"))),
    "an input that is a number": (
        "freeze_input", whole(group=FROM_INPUT, head=input_head("{type: number, required: true}"))),
    "the uncommitted of an input": ("uncommitted_of_input", whole(
        group=FROM_INPUT.replace("‸", "") + "    uncommitted: ‸ignore\n",
        head=input_head("{type: string, required: true}"))),
    "a reviewer who edits": ("branch_edits", group("claude, mode: review", "claude, mode: ‸edit")),
    "a reviewer without a mode": ("branch_edits", group(
        "look: {agent: {provider: claude, mode: review}", "look: {‸agent: {provider: claude}")),
    "a reviewer without work": ("branch_without_work", group("ux-look: {", "‸ux-look: {")
                                .replace(", focus: looks", "")),
    "a reserved field of a branch": ("reserved_field", group(
        "{ok:", "{‸outcome: {type: string}, ok:")),
    "a condition on no branch": ("unknown_path", rest("join.j.code.ok", "‸join.j.cod.ok")),
    "a condition on no field of a branch": ("unknown_path", rest(
        "join.j.code.ok", "‸join.j.code.no")),
    "a condition on a group": ("unknown_path", rest("join.j.code.ok", "‸join.g.code.ok")),
    "a condition on all reports": ("unknown_path", rest("join.j.code.ok", "‸join.j.reports")),
    "a condition on a branch": ("unknown_path", rest("join.j.code.ok", "‸join.j.code")),
    "a condition on a report of a group": ("unknown_path", rest("join.j.code.ok", "‸report.g.ok")),
    "a condition on comments": ("unknown_path", rest("join.j.code.ok, eq: true",
                                                     "‸gate.h.comments, present: true")),
    "an outcome never read": (
        "operand_not_a_value", rest("code.ok, eq: true", "outcome, eq: ‸failed")),
    "a branch's operand of another type": ("operand_type", rest("eq: true", "eq: ‸'true'")),
    "reports before the review": ("binding_not_produced", whole(
        first=agent("a", more=", inputs: {x: ‸join.j.reports}", following="g"))),
    "reports of an incomplete review": (
        "binding_not_produced", rest("incomplete: h", "incomplete: b")
        + agent("b", more=", inputs: {x: ‸join.j.code.summary}")),
    "a reviewer bound to its own review": ("binding_not_produced", group(
        "focus: looks", "focus: looks, inputs: {x: ‸join.j.code.ok}")),
    "a reviewer bound to nothing": ("unknown_path", group(
        "focus: looks", "focus: looks, inputs: {x: ‸report.q}")),
    "a gate over no review": ("unknown_review", rest("title: Look,", "title: Look, review: ‸jj,")),
    "an agent that reviews a group": (
        "unknown_review", whole(first=agent("a", more=", review: ‸g", following="g"))),
    "a gate without the review it names": (
        "review_not_done", rest("title: Look,", "title: Look, review: ‸j,")),
    "a check before the review it names": ("review_not_done", whole(
        first="  a: {kind: check, run: x, review: ‸j, next: g}\n")),
    "an end with a review": ("unknown_key", rest("z: {kind: end", "z: {kind: end, ‸review: j")),
    "nobody may decide": ("deciders", rest("{kind: gate, title: Look,",
                                           "{kind: gate, title: Look, ‸decide: {},")),
    "a decider twice": ("deciders", rest(
        "{kind: gate, title: Look,", "{kind: gate, title: Look, ‸decide: {people: [ann, ann]},")),
    "a role that is no name": ("bad_name", rest("title: Look,",
                                                "title: Look, decide: {roles: [‸The Boss]},")),
    "deciders as a text": ("wrong_type", rest("title: Look,", "title: Look, decide: ‸ann,")),
    "a comment's line in a condition": ("unknown_path", rest(
        "join.j.code.ok, eq: true", "‸gate.h.comments.line, present: true")),
}  # fmt: skip
