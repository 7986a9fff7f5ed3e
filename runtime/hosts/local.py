"""The local host: agents, checks and worktrees of this machine, under one data folder.

Everything it knows stands in files, so it may die at any instant: what it started goes on under
its own runner, and the next host of the same folder adopts it. Two hosts at once do no harm
either: whether a command runs is decided by one exclusively made file.

If a call raises ``HostUnavailableError``, the effect may have been taken; ``lookup`` tells.
"""

import asyncio
import contextlib
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from filelock import Timeout

from pointsman.actors.host import (
    HostUnavailableError,
    KeptWorkspace,
    ProviderCapability,
    ReportingAccess,
    RepositoryRefused,
    RepositoryState,
)
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.intents import (
    AnswerRequest,
    CancelCheck,
    FreezeChange,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    ReadHead,
    ReleaseWorkspace,
    ResumeExecution,
    SendReminder,
    StartCheck,
    VerifyCheckout,
)
from pointsman.graph.work import CheckState, Found, NotFound, Receipt, Unknown, WorkAggregate
from pointsman.runtime.hosts.aggregate import aggregate
from pointsman.runtime.hosts.changes import Changes
from pointsman.runtime.hosts.effects import Effects
from pointsman.runtime.hosts.executions import Executions, is_taken
from pointsman.runtime.hosts.keeping import Keeping
from pointsman.runtime.hosts.places import Places
from pointsman.runtime.hosts.turns import Turns
from pointsman.runtime.hosts.watch import Watch
from pointsman.runtime.processes.supervised import (
    RecordCorruptError,
    RunnerError,
    SupervisedCommand,
)
from pointsman.runtime.providers.base import Providers
from pointsman.runtime.worktrees.bootstrap import InterruptedByCloseError
from pointsman.runtime.worktrees.checks import check_command, inspect_check
from pointsman.runtime.worktrees.git import GitKilledError, GitTimeoutError
from pointsman.runtime.worktrees.repositories import inspect_repository
from pointsman.runtime.worktrees.workspaces import Worktrees

_QUICK_CALLS_MAX: Final = 8
_LONG_CALLS_MAX: Final = 64

AnswerT = TypeVar("AnswerT")
_OF_THIS_MACHINE: Final = (
    *(RecordCorruptError, RunnerError, GitKilledError, GitTimeoutError),
    *(Timeout, OSError),
)


class LocalHost:
    """A ``Host`` for this machine. ``wake`` is told the id of an attempt or check to look at."""

    def __init__(self, data: Path, wake: Callable[[str], None], providers: Providers):
        if sys.platform != "linux":
            raise HostUnavailableError("the local host needs Linux: it reads /proc and uses prctl")
        root = data.resolve() / "host"
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._providers = providers
        self._effects = Effects(root / "effects", root)
        worktrees = Worktrees(root / "workspaces", data.resolve() / "workspaces")
        self._executions = Executions(root, self._effects, worktrees, providers)
        self._closing = threading.Event()
        turns = Turns(root / "locks", self._closing.is_set)
        self._places = Places(root, self._effects, worktrees, turns, self._closing.is_set)
        self._changes = Changes(root, self._effects, worktrees, turns, self._closing.wait)
        self._keeping = Keeping(root, worktrees, turns)
        self._root = root
        self._watch = Watch(wake, self._settle_loss)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Ending stubborn processes and setting up a workspace take seconds to minutes; they
        # must not keep a launch or a look at an attempt waiting.
        self._quick = ThreadPoolExecutor(_QUICK_CALLS_MAX, "host-quick")
        self._long = ThreadPoolExecutor(_LONG_CALLS_MAX, "host-long")

    async def start(self) -> None:
        """Adopt the work that an earlier host of this folder has left, and watch it."""
        for subject, command in await self._in(self._quick, self._open_work):
            self._watch.add(subject, command)
        self._watch.start()

    async def close(self) -> None:
        """Stop watching. Agents and checks go on; the next host adopts them."""
        self._closing.set()
        await self._watch.stop()
        for pool in (self._quick, self._long):
            pool.shutdown(wait=False, cancel_futures=True)

    def _open_work(self) -> list[tuple[str, SupervisedCommand]]:
        return [*self._executions.open_turns(), *self._places.open_checks()]

    async def _settle_loss(self, command: SupervisedCommand) -> None:
        await self._in(self._long, command.settle_loss)

    async def providers(self) -> tuple[ProviderCapability, ...]:
        """List the providers with their eligibility, as their probes prove it."""
        probes = (provider.capability() for provider in self._providers.values())
        return tuple(await asyncio.gather(*probes))

    async def inspect_repository(self, path: str) -> RepositoryState | RepositoryRefused:
        """Tell whether a run can start from this folder, and at which commit."""
        return await self._in(self._quick, lambda: inspect_repository(path))

    async def lookup(self, idempotency_key: str) -> Found | NotFound | Unknown:
        """Tell whether an effect was taken, without acting."""
        return await self._in(self._quick, lambda: self._effects.lookup(idempotency_key))

    async def prepare_workspace(self, order: PrepareWorkspace) -> Receipt:
        """Make, or adopt, the worktree and bootstrap it."""
        async with self._alone(order.workspace_key):
            return await self._in(self._long, lambda: self._places.prepare(order))

    async def release_workspace(self, order: ReleaseWorkspace) -> Receipt:
        """Remove the worktree if it is clean and unused; else keep it. Ends its set-up first."""
        key = order.workspace_key
        await self._in(self._long, lambda: self._places.give_up_preparing(key))
        async with self._alone(order.workspace_key):
            return await self._in(self._long, lambda: self._release(order))

    def _release(self, order: ReleaseWorkspace) -> Receipt:
        return self._places.release(order, self._open_work())

    async def freeze_change(self, order: FreezeChange) -> Receipt:
        """Freeze the change under review at one commit."""
        async with self._alone(order.review_set_id):
            return await self._in(self._long, lambda: self._changes.freeze(order))

    async def verify_checkout(self, order: VerifyCheckout) -> Checkout:
        """Look whether a reviewer's worktree is what was frozen."""
        return await self._in(self._long, lambda: self._changes.verify(order))

    async def read_head(self, order: ReadHead) -> HeadReading:
        """Look where the change under review stands now."""
        return await self._in(self._long, lambda: self._changes.head(order))

    async def workspaces(self) -> tuple[KeptWorkspace, ...]:
        """List the worktrees on disk, and why each is kept."""
        return await self._in(self._long, lambda: self._keeping.every(self._open_work()))

    async def prune_workspaces(self, keys: tuple[str, ...]) -> tuple[KeptWorkspace, ...]:
        """Remove those of the named worktrees that nothing keeps and nobody works in."""
        return await self._in(self._long, lambda: self._keeping.prune(keys, self._open_work()))

    async def launch(self, order: LaunchExecution, access: ReportingAccess) -> Receipt:
        """Start the agent."""
        return await self._turn(order.attempt_id, lambda: self._executions.launch(order, access))

    async def send(self, order: SendReminder, access: ReportingAccess) -> Receipt:
        """Deliver a follow-up message as a further turn of the same native session."""
        return await self._turn(order.attempt_id, lambda: self._executions.send(order, access))

    async def resume(self, order: ResumeExecution, access: ReportingAccess) -> Receipt:
        """Go on with the native session of an interrupted attempt."""
        return await self._turn(order.attempt_id, lambda: self._executions.resume(order, access))

    async def _turn(self, attempt_id: str, begin: Callable[[], Receipt]) -> Receipt:
        async with self._alone(attempt_id):
            receipt = await self._in(self._quick, begin)
            if is_taken(receipt):
                self._watch.add(
                    attempt_id, self._executions.attempt(attempt_id).turns()[-1].command
                )
            return receipt

    async def interrupt(self, order: InterruptExecution) -> Receipt:
        """End the attempt's whole process tree."""
        async with self._alone(order.attempt_id):
            return await self._in(self._long, lambda: self._executions.interrupt(order))

    async def answer(self, order: AnswerRequest) -> Receipt:
        """Give a person's answer to a native request."""
        async with self._alone(order.attempt_id):
            return await self._in(self._quick, lambda: self._executions.answer(order))

    async def inspect(self, attempt_id: str) -> WorkAggregate:
        """Return the attempt's work aggregate now."""
        attempt = self._executions.attempt(attempt_id)
        return await self._in(self._quick, lambda: aggregate(attempt))

    async def start_check(self, order: StartCheck) -> Receipt:
        """Start a check's command."""
        async with self._alone(order.check_id):
            receipt = await self._in(self._quick, lambda: self._places.start_check(order))
            if is_taken(receipt):
                self._watch.add(order.check_id, check_command(self._root, order.check_id))
            return receipt

    async def inspect_check(self, check_id: str) -> CheckState:
        """Return what is known of a check."""
        command = check_command(self._root, check_id)
        return await self._in(self._quick, lambda: inspect_check(command))

    async def cancel_check(self, order: CancelCheck) -> Receipt:
        """End the check's whole process tree."""
        async with self._alone(order.check_id):
            return await self._in(self._long, lambda: self._places.cancel_check(order))

    @contextlib.asynccontextmanager
    async def _alone(self, subject: str) -> AsyncIterator[None]:
        """Do one thing at a time with a subject: a repeated order waits for the first answer."""
        lock = self._locks.setdefault(subject, asyncio.Lock())
        async with lock:
            yield

    async def _in(self, pool: ThreadPoolExecutor, call: Callable[[], AnswerT]) -> AnswerT:
        if self._closing.is_set():
            raise HostUnavailableError("the host is closing")
        self._watch.check()
        return await asyncio.get_running_loop().run_in_executor(pool, _guarded, call)


def _guarded(call: Callable[[], AnswerT]) -> AnswerT:
    with _outside_trouble():
        return call()


@contextlib.contextmanager
def _outside_trouble() -> Iterator[None]:
    """Tell the engine to come back, or to look the effect up, when this machine fails us."""
    try:
        yield
    except _OF_THIS_MACHINE as error:
        raise HostUnavailableError(f"{type(error).__name__}: {error}") from error
    except InterruptedByCloseError as error:
        raise HostUnavailableError("the host is closing") from error
