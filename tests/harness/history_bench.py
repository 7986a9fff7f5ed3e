"""Tell how fast the history is: ``make bench-history``.

A few told runs are cloned under other ids into a real LMDB journal, many of them under way at a
time as on a busy machine. Then all are taken into DuckDB, every view is read in full, and the
events of a run are read from the journal.
"""

import argparse
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pointsman.storage import codec, keys
from pointsman.storage.history.history import History
from pointsman.storage.history.views import VIEWS
from pointsman.storage.journal import LogEntry
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_environment import MAP_SIZE_BYTES, Environment, Txn
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.acts import ACTS
from tests.harness.core import RUN_ID
from tests.harness.history import ToldProcess, ToldReview, Transitions
from tests.harness.reviews import reviewed

EVENTS_A_SECOND_MIN: Final = 50_000
VIEW_MS_MAX: Final = 300
TRACE_MS_MAX: Final = 20
_UNDER_WAY: Final = 100


def _told() -> list[Transitions]:
    """Tell a run that does its work over, one that needs no rework, and one with reviewers."""
    again, review = ToldProcess(), ToldReview(reviewed())
    again.work(data={"risk": "high"})
    again.run_check(exit_code=1)
    again.work(data={"risk": "low"})
    again.run_check()
    again.decide_gate()
    quick = ToldProcess()
    quick.work(data={"risk": "low"})
    quick.run_check()
    quick.decide_gate()
    for step in range(1, 80):
        ACTS["onward"](review, step)
    return [again.transitions, quick.transitions, review.transitions]


def _texts(told: Transitions) -> list[list[bytes]]:
    return [[codec.EVENT.adapter.dump_json(each) for each in events] for events in told]


def _row(tag: str, version: int, key: bytes, text: bytes) -> bytes:
    """Return a row as ``codec.encode`` does, of text that needs no encoding."""
    body = f"{tag}/{version}\n".encode() + text
    return zlib.crc32(body, zlib.crc32(key)).to_bytes(4, "big") + body


def _clones(stories: list[list[list[bytes]]], first: int) -> Iterator[tuple[str, int, list[bytes]]]:
    """Yield the transitions of runs that are under way together, each with its first sequence."""
    under_way = [
        (f"r0-{number:026d}", stories[number % len(stories)])
        for number in range(first, first + _UNDER_WAY)
    ]
    for step in range(max(map(len, stories))):
        for run_id, story in under_way:
            if step < len(story):
                before = sum(map(len, story[:step]))
                name = run_id.encode()
                yield run_id, before, [t.replace(RUN_ID.encode(), name) for t in story[step]]


def fill(folder: Path, runs: int) -> int:
    """Write the log and the events of clones into a new journal; return how many events."""
    stories = [_texts(each) for each in _told()]
    environment = Environment.open(folder, MAP_SIZE_BYTES * 4, read_only=False)
    position = events = 0
    for first in range(0, runs, _UNDER_WAY):
        rows: list[tuple[Table, bytes, bytes]] = []
        for run_id, sequence, texts in _clones(stories, first):
            position += 1
            events += len(texts)
            key = keys.number(position)
            entry = LogEntry(position, run_id, sequence, sequence + len(texts) - 1)
            rows.append((Table.LOG, key, codec.encode(codec.LOG, key, entry)))
            for number, text in enumerate(texts, start=sequence):
                key = keys.event(run_id, number)
                row = _row(codec.EVENT.tag, codec.EVENT.version, key, text)
                rows.append((Table.EVENTS, key, row))

        def put(txn: Txn, rows: list[tuple[Table, bytes, bytes]] = rows) -> None:
            for each in rows:
                txn.put(*each)

        environment.write(put)
    environment.close()
    return events


def _say(what: str, figure: str, met: bool) -> bool:
    sys.stdout.write(f"{what:32} {figure:>22}  {'' if met else 'MISSED'}\n")
    sys.stdout.flush()
    return met


def _bench(folder: Path, runs: int) -> bool:
    began = time.perf_counter()
    events = fill(folder / "journal", runs)
    made_s = time.perf_counter() - began
    _say("made", f"{events:,} events in {made_s:.0f} s", met=True)
    journal = LmdbJournal.open(folder / "journal")
    history = History.open(folder / "history.duckdb")
    began = time.perf_counter()
    while history.take("0", journal):
        pass
    rate = events / (time.perf_counter() - began)
    met = [_say("taken", f"{rate:,.0f} events/s", rate > EVENTS_A_SECOND_MIN)]
    size = (folder / "history.duckdb").stat().st_size
    _say("size of the history", f"{size / 1e6:,.0f} MB", met=True)
    connection = history.connection()
    for view in VIEWS:
        began = time.perf_counter()
        found = len(connection.execute(f"FROM {view.name}").fetchall())
        took_ms = (time.perf_counter() - began) * 1000
        figure = f"{found:,} rows {took_ms:,.0f} ms"
        met.append(_say(view.name, figure, took_ms < VIEW_MS_MAX))
    began = time.perf_counter()
    found = len(journal.events(f"r0-{runs // 2:026d}"))
    took_ms = (time.perf_counter() - began) * 1000
    met.append(
        _say("events of a run, decoded", f"{found} in {took_ms:.1f} ms", took_ms < TRACE_MS_MAX)
    )
    history.close()
    journal.close()
    return all(met)


def main() -> int:
    """Print the figures; 1 if one of them is not what was promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="pointsman-history-bench-") as folder:
        return 0 if _bench(Path(folder), runs) else 1


if __name__ == "__main__":
    sys.exit(main())
