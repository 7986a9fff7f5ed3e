"""Upcasts: how rows of an earlier schema version are read today. Pure functions, never deleted.

A row keeps the version it was written with. Any change of a stored shape, an added field too
(models are closed), raises the version in ``codec`` and adds its step here. Rows that follow from
the events are written anew instead: raise their version and ``codec.LAYOUT_VERSION``, and add a
step to ``migration``.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Upcast: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
# (tag, version) -> the step from that version to the next
UpcastTable: TypeAlias = Mapping[tuple[str, int], Upcast]


def _unchanged(value: dict[str, Any]) -> dict[str, Any]:
    """Only fields were added since, whose defaults say what was so before they were there."""
    return value


UPCASTS: Final[UpcastTable] = {
    ("event", 1): _unchanged,  # reviews, limits of answers and resumptions were added
}


def upcast(
    table: UpcastTable, tag: str, version: int, to: int, value: dict[str, Any]
) -> dict[str, Any]:
    """Bring a decoded row from ``version`` to the version ``to``, one step at a time."""
    for step in range(version, to):
        assert (tag, step) in table, f"no upcast of {tag} rows from version {step}"
        value = table[tag, step](value)
    return value
