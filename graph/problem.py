"""What is wrong with a definition, at which place, and how to mend it."""

import difflib
from collections.abc import Iterable

from pointsman.graph.model import Model

Where = tuple[str | int, ...]


class Problem(Model):
    """One mistake of the author. ``code`` is stable; ``where`` is a path into the document."""

    code: str
    where: tuple[str | int, ...]
    message: str
    mend: str


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that ``word`` was probably meant to be."""
    close = difflib.get_close_matches(word[:200], tuple(known), n=1, cutoff=0.6)
    return close[0] if close else None


def listed(words: Iterable[str], *, words_max: int = 12) -> str:
    """Return the words as prose, cut after ``words_max``."""
    shown = tuple(word if len(word) <= 80 else word[:79] + "…" for word in words)
    if len(shown) > words_max:
        return ", ".join(shown[:words_max]) + f" and {len(shown) - words_max} more"
    return ", ".join(shown) if shown else "none"


def meant(word: str, known: Iterable[str]) -> str:
    """Return a sentence that points to the right word: the nearest one, or all there are."""
    known = tuple(known)
    close = nearest(word, known)
    if close is not None:
        return f"did you mean '{close}'?"
    return f"there are: {listed(known)}"
