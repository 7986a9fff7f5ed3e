"""What an actor's process makes for itself: its journal, and the host of this machine.

Apart from ``app``: an actor loads the module of what it is given, and what the gateway needs
would cost each of its processes seconds.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pointsman.actors import metrics
from pointsman.actors.host import Host
from pointsman.actors.metric_labels import HostKind
from pointsman.actors.shared_counts import count_in
from pointsman.runtime import logs
from pointsman.runtime.config import DataDirectory
from pointsman.storage.journal import Journal

if TYPE_CHECKING:
    from pointsman.actors.historian import Historian


def journal(data: DataDirectory) -> Journal:
    """Open the journal in an actor's process."""
    from pointsman.storage.lmdb_journal import LmdbJournal

    logs.configure(data.log)
    count_in(data.metrics)
    return LmdbJournal.open(data.journal)


def historian(data: DataDirectory) -> "Historian":
    """Make the historian in its actor's process."""
    from pointsman.actors.historian import Historian
    from pointsman.runtime.history import SHARD

    return Historian(data.history, {SHARD: journal(data)})


def host(data: DataDirectory, wake: Callable[[str], None]) -> Host:
    """Assemble the local host in its actor's process."""
    # Run actors and supervisors load this module too, and need no host.
    from pointsman.runtime.hosts.assembly import local_host

    logs.configure(data.log)
    count_in(data.metrics)
    made = local_host(data, wake)
    metrics.host_connected(HostKind.LOCAL)
    return made
