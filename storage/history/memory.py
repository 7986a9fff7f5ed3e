"""The bound on a process that answers statements, for what DuckDB's own bound does not see.

That one counts what DuckDB keeps in its buffers. A single text of gigabytes, which any function
that formats can make, stands beside them, and while it is made nothing can be interrupted. With
this bound the allocation fails at once, and the statement with it.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Several times what the history's own bound and an answer of the largest size take together.
BYTES_MAX: Final = 2 * 1024**3


def bound_memory(bytes_max: int = BYTES_MAX) -> None:
    """Let this process have so many bytes of its own from now on, or fewer if it may have fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = (each for each in (bytes_max, soft, hard) if each != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))


@contextmanager
def bounded_memory(bytes_max: int = BYTES_MAX) -> Iterator[None]:
    """Bound this process's memory for a while."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    bound_memory(bytes_max)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
