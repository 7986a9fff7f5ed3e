"""Structured logs, appended to the data directory's ``server.log``: one event a line.

``POINTSMAN_LOG_FORMAT`` chooses JSON for programs or text for people, ``POINTSMAN_LOG_LEVEL`` how
much there is. Every process of a server inherits both. ``log_events`` lists what may be logged.

Every process of a server writes there: appends of single lines below the pipe size do not
mix. Nothing is logged from ``graph/``, and no secret ever. What libraries warn of goes there
too: on the terminal it would stand between the answers, with stack traces.
"""

import io
import logging
import os
from pathlib import Path
from typing import Final, TextIO, TypeVar, cast

import structlog

from pointsman.graph import ids
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.spans.configured import collector
from pointsman.runtime.spans.span import ref_of

ChoiceT = TypeVar("ChoiceT")


LEVEL_VARIABLE: Final = "POINTSMAN_LOG_LEVEL"
FORMAT_VARIABLE: Final = "POINTSMAN_LOG_FORMAT"
# What may name the subject of an event, the most particular first.
_NAMING: Final = ("attempt_id", "intent_id", "subject_id", "visit_id", "run_id")
_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_RENDERERS: Final[dict[str, structlog.typing.Processor]] = {
    "json": structlog.processors.JSONRenderer(),
    "console": structlog.dev.ConsoleRenderer(colors=False, pad_event_to=24),
}


def configure(path: Path) -> None:
    """Send this process's log to a file, with times and stable event names.

    Raises ``config_invalid`` for a level or a format that there is not.
    """
    level = _chosen(LEVEL_VARIABLE, "info", _LEVELS)
    renderer = _chosen(FORMAT_VARIABLE, "json", _RENDERERS)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_process,
            with_place,
            structlog.processors.format_exc_info,
            renderer,
        ],
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _LogFile(path))),
        cache_logger_on_first_use=True,
    )
    logging.getLogger().handlers = [_FromLibraries(logging.WARNING)]


def _chosen(variable: str, default: str, known: dict[str, ChoiceT]) -> ChoiceT:
    name = os.environ.get(variable) or default
    if name not in known:
        told = f"{variable} is {name[:80]!r}; it may be {', '.join(known)}"
        raise PointsmanError("config_invalid", told)
    return known[name]


class _LogFile(io.TextIOBase):
    """The end of a file. What a full disk does not take is lost; work never fails for its log."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._is_cut = False

    def close(self) -> None:
        if not self.closed:
            os.close(self._file)
        super().close()

    def write(self, text: str) -> int:
        line = text.encode("utf-8", "replace")
        if self._is_cut:
            line = b"\n" + line
        try:
            written = os.write(self._file, line)
        except OSError:
            return len(text)
        self._is_cut = written < len(line)
        return len(text)


class _FromLibraries(logging.Handler):
    """Takes what libraries log the standard way."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        log.warning(
            "library", logger=record.name, message=record.getMessage(), exc_info=record.exc_info
        )


def with_place(
    _logger: structlog.typing.WrappedLogger, _name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Name the run, the node and the attempt wherever an id in the event tells them.

    With a collector of spans also their trace and their span, so that one finds the other.
    """
    named = next((event[key] for key in _NAMING if isinstance(event.get(key), str)), None)
    if named is None:
        return event
    subject = named.removeprefix("wf:").partition(":")[0]
    if ids.shard_of(ids.run_of(subject)) is None:
        return event
    event.setdefault("run_id", ids.run_of(subject))
    if "." in subject:
        event.setdefault("node", ids.place_of(subject).node)
        if subject.rpartition(".")[2].isdigit() and ids.place_of(subject).visit != subject:
            event.setdefault("attempt_id", subject)
    if collector() is not None:
        trace, span = ref_of(subject)
        event.update(trace_id=f"{trace:032x}", span_id=f"{span:016x}")
    return event


def _with_process(
    _logger: structlog.typing.WrappedLogger, _name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    event["process"] = os.getpid()
    return event
