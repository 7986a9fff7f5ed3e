"""The receipts of a host without processes: each effect acts once a key, as the contract says."""

import asyncio
import threading
from collections.abc import Callable

from pointsman.actors.host import HostUnavailableError
from pointsman.graph import intents
from pointsman.graph.model import JsonScalar
from pointsman.graph.work import Found, NotFound, Receipt, ReceiptStatus, Unknown

_PATIENCE_S = 20.0


class FakeEffects:
    """Keeps receipts by key, and can be told to refuse, to wait, to forget, to be away.

    ``calls`` counts every effect that acted, and every read; ``held_up`` are the kinds of those
    that wait.
    """

    def __init__(self) -> None:
        self.reachable = True
        self.unknown_keys: set[str] = set()
        self.calls: dict[str, int] = {}
        self.held_up: list[str] = []
        self._changed = threading.Condition()
        self._receipts: dict[str, Receipt] = {}
        self._refusals: dict[str, str] = {}
        self._blocked: dict[str, threading.Event] = {}

    def refuse(self, kind: str, reason: str) -> None:
        """Reject the effects of a kind from now on."""
        self._refusals[kind] = reason

    def block(self, kind: str) -> threading.Event:
        """Let effects of a kind wait until the returned event is set."""
        return self._blocked.setdefault(kind, threading.Event())

    async def lookup(self, idempotency_key: str) -> Found | NotFound | Unknown:
        self._demand_reachable()
        if idempotency_key in self.unknown_keys:
            return Unknown(why="the host lost its records")
        receipt = self._receipts.get(idempotency_key)
        return Found(receipt=receipt) if receipt is not None else NotFound()

    def _await(self, look: Callable[[], str | None]) -> str:
        with self._changed:
            found = self._changed.wait_for(look, timeout=_PATIENCE_S)
        assert found is not None, f"did not come; seen: {sorted(self._receipts)}"
        return found

    async def _once(
        self,
        order: intents.Intent,
        act: Callable[[], object] = lambda: None,
        **host_ref: JsonScalar,
    ) -> Receipt:
        """Act once a key; asked again, give the first answer."""
        return await self._answered(order, act, self._refusals.get(order.kind), host_ref)

    async def _refused(self, order: intents.Intent, reason: str) -> Receipt:
        """Reject an effect, once a key."""
        return await self._answered(order, lambda: None, reason, {})

    async def _answered(
        self,
        order: intents.Intent,
        act: Callable[[], object],
        refusal: str | None,
        host_ref: dict[str, JsonScalar],
    ) -> Receipt:
        await self._held_up(order.kind)
        key = order.intent_id
        with self._changed:
            known = self._receipts.get(key)
            if known is not None:
                again = {"status": ReceiptStatus.ALREADY} if known.reason is None else {}
                return known.model_copy(update=again)
            if refusal is None:
                act()
                self._count(order.kind)
            status = ReceiptStatus.ACCEPTED if refusal is None else ReceiptStatus.REJECTED
            receipt = Receipt(
                idempotency_key=key,
                status=status,
                host_ref=host_ref if refusal is None else {},
                reason=refusal,
                message=refusal,
            )
            self._receipts[key] = receipt
            self._changed.notify_all()
        return receipt

    async def _read(self, kind: str) -> None:
        await self._held_up(kind)
        with self._changed:
            self._count(kind)
            self._changed.notify_all()

    async def _held_up(self, kind: str) -> None:
        self._demand_reachable()
        blocked = self._blocked.get(kind)
        if blocked is not None:
            self.held_up.append(kind)
            await asyncio.to_thread(blocked.wait, _PATIENCE_S)
            self.held_up.remove(kind)

    def _count(self, kind: str) -> None:
        self.calls[kind] = self.calls.get(kind, 0) + 1

    def _demand_reachable(self) -> None:
        if not self.reachable:
            raise HostUnavailableError("the test has pulled the plug")
