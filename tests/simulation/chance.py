"""The one source of chance: everything that a simulation draws comes from its seed."""

import random  # noqa: TID251 - seeded, and only here
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Draws from a seed. ``child`` gives a source of its own, which draws here leave alone."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        source = random.Random(seed)
        self.uniform = source.uniform
        self.below = source.random

    def child(self, name: str) -> "Chance":
        """Return the source that belongs to a name under this seed."""
        return Chance(f"{self._seed}/{name}")

    def happens(self, probability: float) -> bool:
        """Tell whether something of this probability happens now."""
        return probability > 0 and self.below() < probability

    def count(self, low: int, high: int) -> int:
        """Draw a whole number from ``low`` to ``high``, both possible."""
        return low + int(self.below() * (high - low + 1))

    def pick(self, among: Sequence[T]) -> T:
        """Draw one of several."""
        return among[int(self.below() * len(among))]

    def spread(self, low: float, high: float) -> float:
        """Draw a duration so that each order of magnitude is as likely as the next."""
        return low * float((high / low) ** self.below())
