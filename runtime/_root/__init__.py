"""Pointsman: a durable runtime for authored coding-agent workflows.

This folder becomes `import pointsman`. It stays light, because every process imports it.
"""

from typing import Final

__version__: Final = "0.1.0"


def refuse_optimized_python() -> None:
    """End the process if assertions are switched off (`python -O`).

    Assertions are part of the product: they are what stops a run whose journal or state is corrupt.
    Every entry point calls this before it does anything else: `python -m pointsman` does, and
    `pointsman.runtime.cli.main:main`, which the console script enters directly, does too.
    """
    if not __debug__:
        raise SystemExit(
            "pointsman relies on its assertions and does not run under `python -O` or with"
            " PYTHONOPTIMIZE set. Start it again without them."
        )
