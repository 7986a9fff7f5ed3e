"""Paths that clients name: they are those of the server's machine, so they must be absolute."""

import os

from pointsman.runtime.problems import PointsmanError


def absolute(path: str) -> str:
    """Return a repository's path in its normal form; raises ``request_invalid``."""
    if not os.path.isabs(path) or "\0" in path:
        raise PointsmanError(
            "request_invalid",
            "the repository must be an absolute path on the server's machine",
            {"repository": path[:500]},
        )
    return os.path.normpath(path)
