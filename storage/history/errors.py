"""What can go wrong with the history; apart, so that telling it does not load DuckDB."""


class HistoryError(Exception):
    """The history cannot be used as asked. The journals are not touched by it."""


class HistoryInUseError(HistoryError):
    """Another process has the history open: ask that process, or wait for its end."""


class SqlRefusedError(HistoryError):
    """The statement is not one that may be asked; nothing was run."""


class SqlFailedError(HistoryError):
    """DuckDB could not answer the statement; the message is its own."""


class SqlTooLongError(HistoryError):
    """The statement took longer than it may, and was ended."""
