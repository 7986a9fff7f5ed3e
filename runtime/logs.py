"""Structured logs: one JSON object a line, appended to the data directory's ``server.log``.

Every process of a server writes there: appends of single lines below the pipe size do not
mix. Nothing is logged from ``graph/``, and no secret ever.
"""

import os
from pathlib import Path

import structlog


def configure(path: Path) -> None:
    """Send this process's log to a file, with times and stable event names."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_process,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(path.open("a", buffering=1)),
        cache_logger_on_first_use=True,
    )


def _with_process(
    _logger: structlog.typing.WrappedLogger, _name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    event["process"] = os.getpid()
    return event
