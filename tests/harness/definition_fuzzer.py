"""Damages workflow files in reproducible ways and reads each; run as a program in a child.

It prints one JSON line with what the reading took. The limits of memory and time are set by
whoever starts it (``tests/property/test_reader_bounds.py``).
"""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterator
from importlib.resources import files

from pointsman.graph import limits
from pointsman.storage.definition_text import read_definition, render

PIECES = (
    "{", "}", "[", "]", ": ", "- ", "&a ", "*a", "<<: *a", "|", ">", "'", '"', "#", "\t", "\n",
    "  ", "? ", "!!str ", "!!python/object:os.system ", "---\n", "...", "%YAML 9.9\n", "\ufeff",
    "\0",
    "1e999", "9" * 40, "true", "null", "on: ", "kind: parallel", "next: ", "repeat: {max: 1}",
    "when: {all: [", "join.review.security.verdict", "run.input.x", "\u2028", "\r", "🚂", "\\U",
)  # fmt: skip

REPEATED = (
    "[", "{a: ", "- ", "? ", "'", "#", "#\n", "&a ", "*a ", "!", "|\n", "a\n", "\t", "%", "---\n",
    ":", ",", "\n", " ", "a: &a [*a, *a]\n", "x: {<<: *x}\n",
)  # fmt: skip


class Draws:
    """An endless source of numbers that depend on the seed alone."""

    def __init__(self, seed: int) -> None:
        self._numbers = self._made(seed)

    @staticmethod
    def _made(seed: int) -> Iterator[int]:
        block = 0
        while True:
            digest = hashlib.sha256(f"{seed}/{block}".encode()).digest()
            yield from (int.from_bytes(digest[at : at + 4]) for at in range(0, 32, 4))
            block += 1

    def below(self, bound: int) -> int:
        return next(self._numbers) % max(bound, 1)


def damaged(text: str, other: str, draws: Draws) -> str:
    """Return the text after one to four cuts, copies, insertions, swaps or splices."""
    for _ in range(1 + draws.below(4)):
        start = draws.below(len(text))
        end = min(len(text), start + 1 + draws.below(60))
        match draws.below(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:]
            case 2:
                text = text[:start] + PIECES[draws.below(len(PIECES))] + text[start:]
            case 3:
                text = text[:start] + PIECES[draws.below(len(PIECES))] * 40 + text[end:]
            case 4:
                lines = text.splitlines(keepends=True)
                at, to = draws.below(len(lines)), draws.below(len(lines))
                if lines:
                    lines[at], lines[to] = lines[to], lines[at]
                text = "".join(lines)
            case _:
                at = draws.below(len(other))
                text = text[:start] + other[at : at + 200] + text[end:]
    return text


def huge() -> Iterator[str]:
    """Yield texts of a mebibyte that are one thing over and over."""
    size = limits.DEFINITION_FILE_BYTES_MAX
    for piece in REPEATED:
        yield piece * (size // len(piece))
    yield "[" + "a," * (size // 2 - 1)
    yield "a: '" + "x" * (size - 5) + "'"
    yield "\n".join(f"k{number}: {number}" for number in range(size // 16))


def main(seed: int, count: int, *paths: str) -> None:
    texts = [open(path, encoding="utf-8").read() for path in paths]  # noqa: SIM115
    folder = files("pointsman.examples").joinpath("workflows")
    texts += [item.read_text("utf-8") for item in folder.iterdir() if item.name.endswith("yaml")]
    draws = Draws(seed)
    valid, slowest_s = 0, 0.0
    made = (
        damaged(texts[draws.below(len(texts))], texts[draws.below(len(texts))], draws)
        for _ in range(count)
    )
    for text in (*huge(), *made):
        begun = time.perf_counter()
        loaded = read_definition(text, "fuzzed.yaml")
        slowest_s = max(slowest_s, time.perf_counter() - begun)
        assert (loaded.workflow is None) == bool(loaded.problems), text
        assert len(loaded.problems) <= 2 * limits.PROBLEMS_MAX
        render(loaded.problems)
        valid += loaded.workflow is not None
    memory_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shown = {"read": count, "valid": valid, "slowest_s": slowest_s, "memory_kib": memory_kib}
    sys.stdout.write(json.dumps(shown) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
