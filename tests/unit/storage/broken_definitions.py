"""Broken definitions, each with its code and a ``‸`` before the place that must be named."""

HEAD = """\
pointsman: 1
id: w
name: W
entry: a
nodes:
"""
LAST = "  z: {kind: end}\n"


def agent(name: str, *, more: str = "", following: str = "z") -> str:
    return (
        f"  {name}: {{kind: agent, agent: {{provider: claude}}, instructions: Do it."
        f"{more}, next: {following}}}\n"
    )


def marked(text: str) -> tuple[str, int, int]:
    """Return the text without its mark, and the line and column of the mark."""
    before, mark, after = text.partition("‸")
    assert mark, "a broken definition marks the place"
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


SHAPES = {
    "missing name at the top": ("missing_key", "‸pointsman: 1\nid: w\nentry: z\nnodes:\n" + LAST),
    "missing instructions": (
        "missing_key",
        HEAD + "  ‸a: {kind: agent, agent: {provider: claude}, next: z}\n" + LAST,
    ),
    "missing kind": ("missing_key", HEAD + "  ‸a: {next: z}\n" + LAST),
    "missing at_limit": (
        "missing_key",
        HEAD + agent("a", following="{to: z, ‸repeat: {max: 1}}") + LAST,
    ),
    "missing otherwise": ("missing_key", HEAD + "  ‸a: {kind: decision, rules: []}\n" + LAST),
    "unknown key at the top": ("unknown_key", "‸nme: W\nname: W\n" + HEAD[: HEAD.index("name")]
                               + "entry: z\nnodes:\n" + LAST),
    "unknown key of a node": ("unknown_key", HEAD + agent("a", more=", ‸time_out: 2h") + LAST),
    "unknown key of a route": (
        "unknown_key",
        HEAD + agent("a", following="{to: z, ‸at_limit: z}") + LAST,
    ),
    "an enum's value twice": (
        "enum_values",
        "inputs: {‸x: {type: enum, values: [a, b, a]}}\n" + HEAD + "  a: {kind: end}\n",
    ),
    "an absolute folder": (
        "path_leaves_folder",
        HEAD + "  a: {kind: check, run: x, folder: ‸/etc, next: z}\n" + LAST,
    ),
    "an expression": (
        "wrong_type",
        HEAD + "  a:\n    kind: decision\n    otherwise: z\n"
        "    rules: [{name: r, to: z, when: ‸report.a.n == 1 or __import__('os')}]\n" + LAST,
    ),
    "a gate that merges": (
        "unknown_key", HEAD + "  a: {kind: gate, title: G, decisions: {approve: z, ‸merge: z}}\n"
        + LAST,
    ),
    "unknown kind": ("unknown_kind", HEAD + "  a: {kind: ‸agnet, next: z}\n" + LAST),
    "a bad id": ("bad_name", HEAD.replace("id: w", "id: ‸My Flow") + "  a: {kind: end}\n"),
    "a bad node name": ("bad_key", HEAD + "  a: {kind: end}\n  ‸B_b: {kind: end}\n"),
    "a bad variable": ("bad_key", HEAD + "  a: {kind: check, run: x, env: {‸A-B: x}, next: z}\n"
                       + LAST),
    "repeat of zero": (
        "out_of_range",
        HEAD + agent("a", following="{to: z, repeat: {max: ‸0, at_limit: z}}") + LAST,
    ),
    "repeat of 21": (
        "out_of_range",
        HEAD + agent("a", following="{to: z, repeat: {max: ‸21, at_limit: z}}") + LAST,
    ),
    "1001 visits": ("out_of_range", "visits: {max: ‸1001}\n" + HEAD + "  a: {kind: end}\n"),
    "a short timeout": ("out_of_range", HEAD + agent("a", more=", timeout: ‸59s") + LAST),
    "a long timeout": ("out_of_range", HEAD + agent("a", more=", timeout: ‸25h") + LAST),
    "a timeout in words": ("wrong_type", HEAD + agent("a", more=", timeout: ‸soon") + LAST),
    "yes is a text": (
        "wrong_type",
        "inputs: {x: {type: string, required: ‸yes}}\n" + HEAD + "  a: {kind: end}\n",
    ),
    "a number as a text": ("wrong_type", HEAD.replace("name: W", "name: ‸5")
                           + "  a: {kind: end}\n"),
    "true as a number": ("wrong_type", "visits: {max: ‸true}\n" + HEAD + "  a: {kind: end}\n"),
    "version true": ("wrong_type", HEAD.replace("pointsman: 1", "pointsman: ‸true")
                     + "  a: {kind: end}\n"),
    "version 1.0": ("wrong_type", HEAD.replace("pointsman: 1", "pointsman: ‸1.0")
                    + "  a: {kind: end}\n"),
    "version 2": ("unsupported_format", HEAD.replace("pointsman: 1", "pointsman: ‸2")
                  + "  a: {kind: end, what: 1}\n"),
    "an unknown mode": ("unknown_value", HEAD
                        + agent("a").replace("claude}", "claude, mode: ‸edits}") + LAST),
    "an empty command": ("too_few", HEAD + "  a: {kind: check, ‸run: [], next: z}\n" + LAST),
    "a folder outside": (
        "path_leaves_folder",
        HEAD + "  a: {kind: check, run: x, folder: ‸../b, next: z}\n" + LAST,
    ),
    "an enum without values": (
        "enum_values",
        HEAD + agent("a", more=", report: {fields: {‸r: {type: enum}}}") + LAST,
    ),
    "two operators": (
        "one_operator",
        HEAD + "  a:\n    kind: decision\n    otherwise: z\n    rules:\n"
        "      - {name: r, ‸when: {field: run.input.x, eq: 1, ne: 2}, to: z}\n" + LAST,
    ),
    "an operand that is a list": (
        "wrong_type",
        HEAD + "  a:\n    kind: decision\n    otherwise: z\n    rules:\n"
        "      - {name: r, when: {field: run.input.x, ‸eq: [1]}, to: z}\n" + LAST,
    ),
}  # fmt: skip

DECISION = (
    HEAD
    + agent(
        "a",
        more=", report: {fields: {risk: {type: enum, values: [low, high]}, n: {type: number}}}",
        following="t",
    )
    + "  t: {kind: check, run: x, next: d}\n"
    + "  d:\n    kind: decision\n    otherwise: z\n    rules:\n"
)


def rule(when: str, to: str = "z") -> str:
    return DECISION + f"      - {{name: r, when: {when}, to: {to}}}\n" + LAST


GRAPHS = {
    "unknown entry": ("unknown_target", HEAD.replace("entry: a", "entry: ‸b")
                      + "  a: {kind: end}\n"),
    "unknown next": ("unknown_target", HEAD + agent("a", following="‸zz") + LAST),
    "unknown rule target": ("unknown_target", rule("{field: report.a.n, eq: 1}", "‸zz")),
    "unknown limit destination": (
        "unknown_target",
        HEAD + agent("a", following="{to: z, repeat: {max: 1, at_limit: ‸zz}}") + LAST,
    ),
    "unknown whole-run exit": ("unknown_target", "visits: {at_limit: ‸q}\n" + HEAD
                               + "  a: {kind: end}\n"),
    "limit into work": (
        "limit_destination_automated",
        HEAD + agent("a", following="{to: b, repeat: {max: 1, at_limit: ‸b}}") + agent("b") + LAST,
    ),
    "whole-run exit into work": (
        "limit_destination_automated",
        "visits: {at_limit: ‸b}\n" + HEAD + agent("a", following="b") + agent("b") + LAST,
    ),
    "a node nobody reaches": ("unreachable_node", HEAD + agent("a") + LAST + "  ‸y: {kind: end}\n"),
    "two nodes going round": (
        "unbounded_cycle",
        HEAD + agent("a", following="d")
        + "  d: {kind: decision, rules: [{name: r, when: {field: report.a.outcome, eq: completed},"
        " to: z}], otherwise: ‸a}\n" + LAST,
    ),
    "a node that leads to itself": (
        "unbounded_cycle",
        HEAD + agent("a", more=", unresolved: ‸a") + LAST,
    ),
    "a cycle through a limit destination": (
        "unbounded_cycle",
        HEAD + agent("a", following="d") + "  d: {kind: decision, otherwise: {to: a,"
        " repeat: {max: 1, at_limit: g}}}\n"
        "  g: {kind: gate, title: G, decisions: {approve: z, request_changes: ‸a}}\n" + LAST,
    ),
    "a cycle through the whole-run exit": (
        "unbounded_cycle",
        "visits: {at_limit: ‸g}\n" + HEAD + agent("a", following="g")
        + "  g: {kind: gate, title: G, decisions: {approve: z,"
        " request_changes: {to: a, repeat: {max: 1, at_limit: z}}}}\n" + LAST,
    ),
    "a condition on an unknown node": ("unknown_path", rule("{field: ‸report.b.n, eq: 1}")),
    "a condition on an unknown field": ("unknown_path", rule("{field: ‸report.a.m, eq: 1}")),
    "a condition on another kind": ("unknown_path", rule("{field: ‸check.a.exit_code, eq: 1}")),
    "a condition on output": ("unknown_path", rule("{field: ‸check.t.output_tail, eq: x}")),
    "a condition on a whole result": ("unknown_path", rule("{field: ‸report.a, present: true}")),
    "a condition on no path": ("unknown_path", rule("{field: ‸__import__, present: true}")),
    "an operand of another type": ("operand_type", rule("{field: report.a.n, eq: ‸'1'}")),
    "a member of another type": ("operand_type", rule("{field: report.a.n, in: [1, ‸x]}")),
    "no value of the enum": ("operand_not_a_value", rule("{field: report.a.risk, eq: ‸mid}")),
    "an ordering of texts": ("operator_type", rule("{field: report.a.summary, lt: ‸1}")),
    "nine groups": ("too_deep", rule("{all: [" * 9 + "‸{field: report.a.n, eq: 1}" + "]}" * 9)),
    "129 terms": (
        "too_many_terms",
        rule("{any: [" + "{field: report.a.n, eq: 1}, " * 129 + "]}")
        .replace("    rules:", "    ‸rules:"),
    ),
    "two rules of one name": (
        "duplicate_rule_name",
        DECISION + "      - {name: r, when: {field: report.a.n, eq: 1}, to: z}\n"
        "      - {name: ‸r, when: {field: report.a.n, eq: 2}, to: z}\n" + LAST,
    ),
    "a reserved field": (
        "reserved_field",
        HEAD + agent("a", more=", report: {fields: {‸summary: {type: string}}}") + LAST,
    ),
    "an input from nowhere": ("unknown_path", HEAD + agent("a", more=", inputs: {x: ‸run.input.q}")
                              + LAST),
    "an input of an unknown node": (
        "unknown_path",
        HEAD + agent("a", more=", inputs: {x: ‸report.q}") + LAST,
    ),
    "a later result": (
        "binding_not_produced",
        HEAD + agent("a", more=", inputs: {x: ‸report.b}", following="b") + agent("b") + LAST,
    ),
    "a result of one way only": (
        "binding_not_produced",
        HEAD + agent("a", more=", unresolved: b", following="b")
        + agent("b", more=", inputs: {x: {from: ‸report.a}}") + LAST,
    ),
}  # fmt: skip

TEXTS = {
    "an empty file": ("empty_file", "‸"),
    "only comments": ("empty_file", "‸# nothing\n"),
    "a list": ("not_a_mapping", "‸- a\n"),
    "a text": ("not_a_mapping", "‸hello\n"),
    "null": ("not_a_mapping", "‸~\n"),
    "a second document": ("several_documents", HEAD + "  a: {kind: end}\n‸---\nx: 1\n"),
    "a duplicate key": ("duplicate_key", HEAD + "  a: {kind: end}\n  ‸a: {kind: end}\n"),
    "a tab": ("tab", HEAD + "‸\ta: {kind: end}\n"),
    "an open bracket": ("yaml_syntax", HEAD + "  a: {kind: end\n‸"),
    "a colon in a text": ("yaml_syntax", HEAD.replace("name: W", "name: A‸: b")),
    "a numeric key": ("bad_key", HEAD + "  a: {kind: end}\n  ‸1: {kind: end}\n"),
    "a merged text": ("bad_merge", HEAD + "  a: {kind: end, <<: ‸x}\n"),
    "a merged list of lists": ("bad_merge", HEAD + "  a: {kind: end, <<: [‸[{title: x}]]}\n"),
    "two merge keys": ("duplicate_key", HEAD
                       + "  a: {kind: end, <<: {title: x}, ‸<<: {title: y}}\n"),
    "an unknown key merged in": ("unknown_key", HEAD
                                 + "  a: &a {kind: end, ‸titel: x}\n"
                                 + "  b: {kind: end, <<: {title: x}}\n"),
    "an anchor twice": ("duplicate_anchor", HEAD + "  a: &x {kind: end}\n  b: ‸&x {kind: end}\n"),
    "a complex key": ("bad_key", HEAD + "  a: {kind: end}\n  ? ‸[x]\n  : y\n"),
    "a Python tag": ("bad_tag", HEAD.replace("W", "‸!!python/name:os.system x")
                     + "  a: {kind: end}\n"),
    "a set": ("bad_tag", "‸!!set {a}\n"),
    "an unknown alias": ("unknown_alias", HEAD + "  a: ‸*b\n"),
    "an escaped surrogate": ("bad_text", HEAD.replace("W", '"\\u‸d800"') + "  a: {kind: end}\n"),
    "an escaped NUL": ("bad_text", HEAD.replace("W", '‸"a\\0"') + "  a: {kind: end}\n"),
    "no character at all": ("bad_text", HEAD.replace("W", '"\\U‸FFFFFFFF"')),
    "a raw control character": ("bad_character", HEAD.replace("W", "a‸\x1b[31m")),
    "a huge integer": ("out_of_range", HEAD.replace("id: w", "id: w\nrevision: ‸9007199254740992")
                       + "  a: {kind: end}\n"),
    "an infinite number": ("out_of_range", HEAD.replace("id: w", "id: w\nrevision: ‸1e999")
                           + "  a: {kind: end}\n"),
}  # fmt: skip
