"""What is wrong with a definition, at which place, and how to mend it."""

import difflib
from collections.abc import Iterable, Sequence

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
    return first_of(shown, words_max) if shown else "none"


def first_of(names: Sequence[str], names_max: int) -> str:
    """Return the first names, whole, and how many more there are."""
    more = f" and {len(names) - names_max} more" if len(names) > names_max else ""
    return ", ".join(names[:names_max]) + more


def meant(word: str, known: Iterable[str]) -> str:
    """Return a sentence that points to the right word: the nearest one, or all there are."""
    known = tuple(known)
    close = nearest(word, known)
    if close is not None:
        return f"did you mean '{close}'?"
    return f"there are: {listed(known)}"
