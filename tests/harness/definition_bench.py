"""Tells what reading and validating definitions costs; ``make bench-definitions`` runs it.

Nothing is asserted: the machine may be busy. Times are of the processor, the best of several.
"""

import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from rich.console import Console

from pointsman.graph.edges import Graph
from pointsman.graph.validate import problems
from pointsman.storage.catalog import FOLDER, find
from pointsman.storage.definition_text import read_definition, render

CATALOGUE_FILES = 500


def largest() -> str:
    """Return a valid definition of 64 nodes and 256 edges, as an author would write it."""
    lines = ["pointsman: 1", "id: largest", "name: Largest", "entry: n0", "nodes:"]
    lines[3:3] = ["visits: {max: 500, at_limit: help}", "inputs: {task: {type: string}}"]
    agent = (
        "{{kind: agent, agent: {{provider: claude}}, instructions: Do it., inputs: {{{inputs}}},"
        " report: {{fields: {{risk: {{type: enum, values: [low, high], required: true}},"
        " n: {{type: number}}}}}}, next: {to}, unresolved: help}}"
    )
    rule = "{{name: r{n}, when: {{any: [{terms}]}}, to: {to}{repeat}}}"
    for at in range(62):
        to = f"n{at + 1}" if at < 61 else "done"
        if at % 2 == 0:
            inputs = "task: {from: run.input.task, optional: true}"
            if at:
                inputs += f", last: {{from: report.n{at - 2}, optional: true}}"
            lines.append(f"  n{at}: " + agent.format(inputs=inputs, to=to))
            continue
        lines += [f"  n{at}:", "    kind: decision", "    rules:"]
        terms = f"{{field: report.n{at - 1}.n, gt: 3}}, {{field: report.n{at - 1}.risk, eq: high}}"
        for number in range(7 if at == 1 else 3):
            back, repeat = f"n{max(0, at - 1 - number)}", ", repeat: {max: 2, at_limit: help}"
            target = (back, repeat) if number < 2 else ("help", "")
            written = rule.format(n=number, terms=terms, to=target[0], repeat=target[1])
            lines.append(f"      - {written}")
        lines.append(f"    otherwise: {to}")
    lines.append("  help: {kind: gate, title: Help, decisions: {approve: done, request_changes:")
    lines.append("    {to: done, repeat: {max: 1, at_limit: done}}}}")
    lines.append("  done: {kind: end}")
    return "\n".join(lines) + "\n"


def best_ms(act: Callable[[], object], times: int) -> float:
    """Return the least processor time of several, in milliseconds."""
    found = []
    for _ in range(times):
        begun = time.process_time()
        act()
        found.append((time.process_time() - begun) * 1_000)
    return min(found)


def main() -> None:
    console = Console(highlight=False)
    text = largest()
    loaded = read_definition(text, "largest.yaml")
    workflow = loaded.workflow
    assert workflow is not None, render(loaded.problems)
    size = f"{len(workflow.nodes)} nodes, {Graph(workflow).counted} edges, {len(text)} bytes"
    console.print(f"One definition ({size}):")
    console.print(f"  validated in {best_ms(lambda: problems(workflow), 20):.1f} ms")
    console.print(
        f"  read and validated in {best_ms(lambda: read_definition(text, ''), 10):.1f} ms"
    )
    packaged = files("pointsman.examples").joinpath("workflows", "reviewed-change.yaml")
    example = packaged.read_text("utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / FOLDER
        folder.mkdir(parents=True)
        for number in range(CATALOGUE_FILES):
            made = example.replace("id: reviewed-change", f"id: w{number}")
            (folder / f"{number:03}.yaml").write_text(made, encoding="utf-8")
        took_ms = best_ms(lambda: find(Path(name)), 3)
        console.print(f"A catalogue of {CATALOGUE_FILES} files of {len(example)} bytes:")
        console.print(f"  loaded in {took_ms:.0f} ms")


if __name__ == "__main__":
    main()
