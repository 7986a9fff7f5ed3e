"""The HTTP application: native API, reporting endpoint, health, and problem documents.

Only wiring and shapes; what is done stands in ``operations``, what is read in ``queries``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from fastapi import FastAPI

from pointsman.runtime.gateway.operations import Operations
from pointsman.runtime.gateway.reports import Reports
from pointsman.storage.journal import Journal

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "::1"})

OutputLogs = Callable[[str], list[tuple[str, Path]]]
"""The output logs of a run so far: (attempt or check id, path), oldest first."""


def create_app(
    *,
    operations: Operations,
    reports: Reports,
    journal: Journal,
    operator_token: str,
    supervisor_alive: Callable[[], object],
    output_logs: OutputLogs,
    stopping: Callable[[], bool] = lambda: False,
    allowed_hosts: frozenset[str] = LOOPBACK_HOSTS,
) -> FastAPI:
    """Return the application; ``stopping`` ends subscriptions when the server shuts down."""
    raise NotImplementedError
