"""What one statement may take."""

from dataclasses import dataclass
from typing import Final

SECONDS_MAX: Final = 10.0
ROWS_MAX: Final = 100_000
BYTES_MAX: Final = 16 * 1024 * 1024
STATEMENT_CHARS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The time of a statement, and the size of its answer; its memory is the history's own."""

    seconds_max: float = SECONDS_MAX
    rows_max: int = ROWS_MAX
    bytes_max: int = BYTES_MAX
