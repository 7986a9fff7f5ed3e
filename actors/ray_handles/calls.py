"""What all calls of Ray actors have in common: how they are named, made, and awaited.

Every Ray API call of the project is in this folder. The state logic (``Supervisor``,
``RunActor``, ``BranchActor``, a host) is plain asyncio and sees only the Protocols that the
handles here implement. What Ray can do to a call is turned into our own errors: a dead or dying
process is ``WorkerLostError`` or ``HostUnavailableError``.
"""

from typing import Any, Final

import ray
from ray.exceptions import RayError, RayTaskError

from pointsman.actors.host import HostUnavailableError

NAMESPACE: Final = "pointsman"
CALL_TIMEOUT_S: Final = 60.0
# Preparing a workspace runs authored set-up commands, each with its own timeout.
HOST_CALL_TIMEOUT_S: Final = 6 * 60 * 60.0


def options(name: str | None = None) -> dict[str, Any]:
    """Return how an actor is made: with a name it is detached and begun again when it dies.

    Without one it ends with the process that asked for it, and is never begun again by itself.
    """
    detached = {"name": name, "lifetime": "detached", "max_restarts": -1} if name else {}
    return {"num_cpus": 0, "max_task_retries": 0, **detached}


def named(name: str) -> Any:
    """Find a detached actor; raises ``ValueError`` while there is none of that name."""
    return ray.get_actor(name, NAMESPACE)


def supervisor_name(shard: int) -> str:
    """Name the supervisor of a shard."""
    return f"supervisor-{shard}"


async def quietly(reference: Any) -> None:
    """Await what may be lost without harm."""
    try:
        await reference
    except RayError:
        return


def raised(error: RayTaskError) -> Exception:
    """Return what the other side raised, if callers tell it apart; else Ray's own account of it.

    Ray hands on an exception of a class of its own making, which would be wrapped once more by
    the next actor on the way.
    """
    if isinstance(error.cause, HostUnavailableError):
        return HostUnavailableError(str(error.cause))
    return error
