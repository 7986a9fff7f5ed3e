"""Settings of all tests."""

import os

import structlog
from hypothesis import settings

# A change is judged by the same examples each time it is checked; elsewhere new ones are drawn.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_configure() -> None:
    """Log plainly: the default would draw every local variable around each expected error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=repr),
        ]
    )
