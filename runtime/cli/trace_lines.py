"""A run's trace on a terminal: one line an event and, if asked, what stands behind each.

Behind a route stand all rules that were considered, each term with the value it looked at;
behind a visit its inputs and where each was read from; behind a report its fields.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pointsman.graph.predicate import ConsideredTerm
from pointsman.runtime.views.trace import TraceEntry, term_in_words, written

_INDENT: Final = " " * 18
_VALUE_CHARS_MAX: Final = 160
# These lines tell by themselves how long it took.
_TELLS: Final = frozenset({"check_ended"})


def lines(entries: list[TraceEntry], *, full: bool) -> Iterator[str]:
    """Yield the lines of a trace; times are from the run's start."""
    started = datetime.fromisoformat(entries[0].at) if entries else None
    for entry in entries:
        assert started is not None
        elapsed = (datetime.fromisoformat(entry.at) - started).total_seconds()
        mark = f" ({entry.evidence})" if entry.evidence else ""
        yield f"{entry.sequence:4} {elapsed:8.1f} s  {entry.text}{mark}{_took(entry)}"
        if full:
            yield from (f"{_INDENT}{line}" for line in _behind(entry))


def _took(entry: TraceEntry) -> str:
    if entry.lasted is None or entry.kind in _TELLS:
        return ""
    return f" · after {in_time(entry.lasted.ms)}, since {entry.lasted.since}"


def in_time(ms: int) -> str:
    """Return a span in the units that matter: ``850 ms``, ``12.3 s``, ``3 h 20 min``."""
    seconds = ms / 1000
    if ms < 1000:
        return f"{ms} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    hours = minutes // 60
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"


def _behind(entry: TraceEntry) -> Iterator[str]:
    data = entry.data
    match entry.kind:
        case "route_taken":
            yield from _rules(data["considered"])
        case "node_entered":
            references = data["references"]
            for name, value in data["inputs"].items():
                source = f" (from {references[name]})" if name in references else ""
                yield f"{name}: {_value(value)}{source}"
        case "report_accepted":
            for name, value in data["data"].items():
                yield f"{name}: {_value(value)}"
            for evidence in data["evidence"]:
                yield f"evidence: {evidence['kind']} {_value(evidence['reference'])}"
        case "join_committed":
            for branch in data["branches"]:
                why = f" ({branch['reason']})" if branch["reason"] else ""
                yield f"{branch['branch']}: {branch['outcome']}{why}"
        case _:
            return


def _rules(considered: list[dict[str, Any]]) -> Iterator[str]:
    for rule in considered:
        yield f"rule '{rule['name']}': {'holds' if rule['holds'] else 'does not hold'}"
        for term in rule["terms"]:
            yield f"  {term_in_words(ConsideredTerm.model_validate(term, strict=False))}"


def _value(value: object) -> str:
    text = written(value) if isinstance(value, str | bool | int | float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _VALUE_CHARS_MAX else text[: _VALUE_CHARS_MAX - 1] + "…"
