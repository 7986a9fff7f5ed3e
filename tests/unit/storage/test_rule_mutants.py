"""Goal: no rule of the graph's validation can be lost without a test that fails.

Method: each mutant leaves one rule out; at least one broken file must then look otherwise. The
rules of single values are the models' own, and each of their broken files stands for one.
"""

import json
from functools import cache

import pytest

from pointsman.graph.definition import Workflow
from pointsman.graph.problem import Problem
from pointsman.graph.validate import RULES, problems
from pointsman.storage.definition_text import place
from pointsman.storage.yaml_text import read_yaml
from tests.unit.storage.broken_definitions import GRAPHS, HEAD, LAST, agent, marked
from tests.unit.storage.broken_groups import GROUPS


@cache
def broken() -> dict[str, tuple[str, str, Workflow, tuple[Problem, ...]]]:
    """Return the files that only the graph's rules refuse: code, text, workflow and problems."""
    found = {}
    for name, (code, text) in (GRAPHS | GROUPS).items():
        text = marked(text)[0]
        read = read_yaml(text)
        try:
            workflow = Workflow.model_validate_json(json.dumps(read.value))
        except ValueError:
            continue  # refused by its shape
        if not read.problems:
            found[name] = (code, text, workflow, problems(workflow))
    return found


# A node without a way out always stands in a cycle without a bound too, so no file breaks the
# one rule alone.
ENDLESS = HEAD + agent("a", following="b") + agent("b", following="a") + LAST


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_left_out_is_missed_by_a_broken_file(rule: str) -> None:
    endless = read_yaml(ENDLESS).value
    workflows = [workflow for _, _, workflow, _ in broken().values()]
    workflows.append(Workflow.model_validate_json(json.dumps(endless)))
    missed = [
        workflow.id
        for workflow in workflows
        if problems(workflow) != problems(workflow, without=frozenset({rule}))
    ]
    assert missed, f"no broken file would notice that '{rule}' is gone"


def test_every_broken_graph_is_told_by_exactly_the_rules_it_breaks() -> None:
    """A file that is told by no rule at all would prove nothing."""
    for name, (code, text, _, told) in broken().items():
        assert [each.code for each in told] == [code], name
        assert place(told[0], text.encode(), name).line == marked_line(name), name


def marked_line(name: str) -> int:
    return marked((GRAPHS | GROUPS)[name][1])[1]
