"""How a line of progress is meant."""

from enum import StrEnum


class Tone(StrEnum):
    """How a line is meant."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    PERSON = "person"


Told = tuple[str | None, str, Tone]
"""The subject, if there is one, what is said of it, and how that is meant."""
