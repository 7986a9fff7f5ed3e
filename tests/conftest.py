"""Settings of all tests."""

import structlog


def pytest_configure() -> None:
    """Log plainly: the default would draw every local variable around each expected error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=repr),
        ]
    )
