"""What conditions and bindings name: it exists, has the right type, and is there in time."""

from collections.abc import Iterator, Mapping

from pointsman.graph.conditions import FieldTest
from pointsman.graph.declarations import FieldDeclaration, InputBinding
from pointsman.graph.definition import AgentNode, DecisionNode, ParallelNode, Workflow
from pointsman.graph.edges import Graph
from pointsman.graph.paths import Path, Root, declared, parse, result_fields, why_unknown
from pointsman.graph.predicate import count_problems, depth_problems, terms, type_problems
from pointsman.graph.problem import Problem, Where
from pointsman.graph.ways import Ways


def _decisions(workflow: Workflow) -> Iterator[tuple[DecisionNode, Where]]:
    for name, node in workflow.nodes.items():
        if isinstance(node, DecisionNode):
            yield node, ("nodes", name, "rules")


def _terms(workflow: Workflow) -> Iterator[tuple[Where, FieldTest]]:
    for node, where in _decisions(workflow):
        for index, rule in enumerate(node.rules):
            for place, test, _ in terms(rule.when, (*where, index, "when")):
                yield place, test


def size_problems(graph: Graph) -> Iterator[Problem]:
    """No decision has more terms, and none of them a greater depth, than published."""
    for node, where in _decisions(graph.workflow):
        yield from count_problems(tuple(rule.when for rule in node.rules), where)
        for index, rule in enumerate(node.rules):
            yield from depth_problems(rule.when, (*where, index, "when"))


def name_problems(graph: Graph) -> Iterator[Problem]:
    """The rules of a decision are told apart by name."""
    for node, where in _decisions(graph.workflow):
        names: dict[str, int] = {}
        for index, rule in enumerate(node.rules):
            first = names.setdefault(rule.name, index)
            if first != index:
                yield Problem(
                    code="duplicate_rule_name",
                    where=(*where, index, "name"),
                    message=f"rule {first + 1} of this decision is named '{rule.name}' too",
                    mend="name each rule of a decision differently; the trace shows the names",
                )


def path_problems(graph: Graph) -> Iterator[Problem]:
    """Conditions read single values that exist."""
    types = _Types(graph.workflow)
    for place, test in _terms(graph.workflow):
        if types.of(test.field) is None:
            yield _unknown_path(graph.workflow, test.field, (*place, "field"))


def operand_problems(graph: Graph) -> Iterator[Problem]:
    """Operators and operands fit the type of what they are compared with."""
    types = _Types(graph.workflow)
    for place, test in _terms(graph.workflow):
        declaration = types.of(test.field)
        if declaration is not None:
            yield from type_problems(test, declaration, place)


class _Types:
    """The declared types of paths, each looked up once."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._known: dict[str, FieldDeclaration | None] = {}

    def of(self, text: str) -> FieldDeclaration | None:
        if text not in self._known:
            path = parse(text)
            known = declared(self._workflow, path) if path is not None else None
            self._known[text] = known
        return self._known[text]


def _unknown_path(workflow: Workflow, text: str, where: Where) -> Problem:
    message, mend = why_unknown(workflow, text)
    return Problem(code="unknown_path", where=where, message=message, mend=mend)


def _bindings(workflow: Workflow) -> Iterator[tuple[str, InputBinding, Where]]:
    """Yield each binding of an agent or a branch with the node whose entry resolves it."""
    for name, node in workflow.nodes.items():
        if isinstance(node, AgentNode):
            yield from _at(name, node.inputs, ("nodes", name))
        elif isinstance(node, ParallelNode):
            for key, branch in node.branches.items():
                yield from _at(name, branch.inputs, ("nodes", name, "branches", key))


def _at(
    node: str, inputs: Mapping[str, InputBinding], where: Where
) -> Iterator[tuple[str, InputBinding, Where]]:
    for key, binding in inputs.items():
        yield node, binding, (*where, "inputs", key, "from")


def binding_path_problems(graph: Graph) -> Iterator[Problem]:
    """Inputs are bound to values or whole results that exist."""
    for _, binding, where in _bindings(graph.workflow):
        path = parse(binding.from_)
        if path is None or not _exists(graph.workflow, path):
            yield _unknown_path(graph.workflow, binding.from_, where)


def production_problems(graph: Graph) -> Iterator[Problem]:
    """A required input's result is there on every way to the node."""
    ways = Ways(graph)
    for node, binding, where in _bindings(graph.workflow):
        path = parse(binding.from_)
        if path is None or path.root is Root.INPUT or binding.optional:
            continue
        if not _exists(graph.workflow, path):
            continue
        way = ways.without(node, path.name, with_all_visits_used=False)
        if way is not None:
            yield _not_produced(path, way, where)


def _exists(workflow: Workflow, path: Path) -> bool:
    if path.whole:
        return result_fields(workflow, path) is not None
    return declared(workflow, path) is not None


def _not_produced(path: Path, way: list[str], where: Where) -> Problem:
    return Problem(
        code="binding_not_produced",
        where=where,
        message=f"'{path.name}' has left no {path.root} on the way {' → '.join(way)}",
        mend=f"make it optional: {{from: {path}, optional: true}}",
    )
