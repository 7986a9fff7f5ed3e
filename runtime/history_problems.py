"""What went wrong with the history, in the words of its problems."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Final

from pointsman.actors.history import HistoryUnavailableError
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.history.errors import (
    HistoryError,
    HistoryInUseError,
    SqlFailedError,
    SqlRefusedError,
    SqlTooLongError,
)

# The more special first.
_CODES: Final[Mapping[type[Exception], str]] = {
    HistoryUnavailableError: "history_unavailable",
    HistoryInUseError: "history_in_use",
    SqlRefusedError: "sql_refused",
    SqlTooLongError: "sql_too_long",
    SqlFailedError: "sql_failed",
    HistoryError: "history_refused",
}


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Raise as ``PointsmanError`` what the history raises inside."""
    try:
        yield
    except tuple(_CODES) as error:
        code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
        raise PointsmanError(code, str(error)) from error
