"""Rows of the SQL tables as they are compared, and the stories from which they should follow.

A row is a dictionary of all columns, with times in milliseconds and JSON as the value it means.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from pointsman.graph import events as ev
from pointsman.graph.events import RecordedEvent
from pointsman.graph.evolve import fold
from pointsman.graph.run import Run
from pointsman.storage.history.history import History
from pointsman.storage.history.tables import TABLES, Table
from pointsman.storage.journal import Journal

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, list[Row]]


@dataclass(frozen=True)
class Story:
    """One run as its shard's journal tells it: transitions, each at its place in the log."""

    shard: str
    steps: tuple[tuple[int, tuple[RecordedEvent, ...]], ...]

    @cached_property
    def told(self) -> tuple[RecordedEvent, ...]:
        return tuple(each for _, events in self.steps for each in events)

    @cached_property
    def start(self) -> ev.RunStarted:
        event = self.told[0].event
        assert isinstance(event, ev.RunStarted)
        return event

    @cached_property
    def run(self) -> Run:
        run = fold(self.told)
        assert run is not None
        return run


def stories(shard: str, journal: Journal) -> list[Story]:
    """Read every run of a journal, by its log."""
    steps: dict[str, list[tuple[int, tuple[RecordedEvent, ...]]]] = defaultdict(list)
    for entry in journal.log(0, journal.last_position()):
        count = entry.last_sequence - entry.first_sequence + 1
        events = journal.events(entry.run_id, entry.first_sequence - 1, count)
        steps[entry.run_id].append((entry.position, events))
    return [Story(shard, tuple(each)) for each in steps.values()]


def found(history: History) -> Tables:
    """Return the rows that every table has."""
    return {table.name: in_order(_rows(history, table)) for table in TABLES}


def _rows(history: History, table: Table) -> list[Row]:
    columns = ", ".join(
        f"epoch_ms({each.name})" if each.type == "TIMESTAMP" else each.name
        for each in table.columns
    )
    answer = history.connection().execute(f"SELECT {columns} FROM {table.name}").fetchall()
    return [
        {
            each.name: json.loads(value) if each.type == "JSON" and value is not None else value
            for each, value in zip(table.columns, row, strict=True)
        }
        for row in answer
    ]


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in an order that depends on nothing but themselves."""
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def between(from_ms: int | None, to_ms: int | None) -> int | None:
    """Return how long something took, if it began and ended."""
    return None if from_ms is None or to_ms is None else to_ms - from_ms
