"""Putting the local host of a data directory together, and finding the logs it keeps."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from pointsman.actors.host import ProviderCapability
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.hosts.local import LocalHost
from pointsman.runtime.providers.base import Provider
from pointsman.runtime.providers.scripted import ScriptedProvider


def providers() -> tuple[Provider, ...]:
    """Return every provider there is."""
    return (ScriptedProvider(),)


async def capabilities() -> tuple[ProviderCapability, ...]:
    """Prove what the providers can do on this machine, without a host."""
    return tuple(await asyncio.gather(*(each.capability() for each in providers())))


def local_host(data: DataDirectory, wake: Callable[[str], None]) -> LocalHost:
    """Return the host of this machine with every provider there is; ``start`` it before use."""
    return LocalHost(data.path, wake, {provider.name: provider for provider in providers()})


def output_logs(data: DataDirectory, run_id: str) -> list[tuple[str, Path]]:
    """List the output logs of a run so far: (attempt or check id, path), oldest first.

    Folder names are the ids: those of attempts and checks need no encoding (``graph.ids``).
    """
    turns = (data.path / "host" / "attempts").glob(f"{run_id}.*/turns/*/output.log")
    checks = (data.path / "host" / "checks").glob(f"{run_id}.*/output.log")
    found = [(path.parents[2].name, path) for path in turns]
    found += [(path.parent.name, path) for path in checks]
    # The start marker's time, as the log's own moves on while it is written.
    return sorted(found, key=lambda log: (log[1].with_name("start.json").stat().st_mtime_ns, log))
