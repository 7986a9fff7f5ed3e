"""Settings of all tests."""

import os

import structlog
from hypothesis import settings

# A change is judged by the same examples each time it is checked; elsewhere new ones are drawn. How
# long one takes says something of the machine only.
settings.register_profile("drawn", deadline=None)
settings.register_profile("the same each time", deadline=None, derandomize=True)
settings.load_profile("the same each time" if os.environ.get("CI") else "drawn")


def pytest_configure() -> None:
    """Log plainly: the default would draw every local variable around each expected error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=repr),
        ]
    )
