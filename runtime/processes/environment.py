"""The environment of what the host starts: a short list of inherited variables, then our own.

The host's own environment may hold the engine's secrets, Ray's settings and another git
repository's ``GIT_*`` variables; none of these reach an agent, a check or a set-up command.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

from pointsman.runtime.spans.configured import collector
from pointsman.runtime.spans.span import traceparent

_INHERITED: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "XDG_*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSH_AUTH_SOCK",
)


def inherited(more: Iterable[str] = (), source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that are passed on; ``more`` adds names, ``X_*`` a whole family."""
    source = os.environ if source is None else source
    patterns = (*_INHERITED, *more)
    names = {pattern for pattern in patterns if not pattern.endswith("*")}
    families = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))
    return {
        name: value
        for name, value in source.items()
        if name in names or (families and name.startswith(families))
    }


def its_span(subject: str) -> dict[str, str]:
    """Return what tells an attempt's or a check's process its own span, if spans are collected."""
    return {"TRACEPARENT": traceparent(subject)} if collector() is not None else {}
