"""The host's durable map of effects: what was asked under which key, and the answer.

Every effect is claimed by its key before anything is done, so that after a crash the same key
finds the same work instead of doing it twice (``wf-host/1`` §2.3).
"""

from collections.abc import Callable
from pathlib import Path

from pointsman.actors.crash_points import CrashPoint, here
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.work import Found, NotFound, Receipt, ReceiptStatus, Unknown
from pointsman.runtime.durable import create_durably, file_name, write_durably
from pointsman.runtime.hosts import restored
from pointsman.runtime.processes.supervised import (
    RecordCorruptError,
    SupervisedCommand,
    read_record,
)


class Effect(Model):
    """One effect. ``command`` is the folder, below the host's, of the command it starts.

    With a command, the receipt is written before the command is started, and the effect counts
    as taken only once its start is decided. Without one, the receipt is written when all is done.
    """

    key: str
    kind: str
    subject: str
    receipt: Receipt | None = None
    command: str | None = None


def accepted(key: str, **host_ref: JsonScalar) -> Receipt:
    """Make the receipt of an effect that was taken."""
    return Receipt(idempotency_key=key, status=ReceiptStatus.ACCEPTED, host_ref=host_ref)


def rejected(key: str, reason: str, message: str, **host_ref: JsonScalar) -> Receipt:
    """Make the receipt of an effect that is refused for good."""
    return Receipt(
        idempotency_key=key,
        status=ReceiptStatus.REJECTED,
        host_ref=host_ref,
        reason=reason,
        message=message,
    )


def repeated(receipt: Receipt) -> Receipt:
    """Return the first answer as it is given the second time."""
    if receipt.status is ReceiptStatus.ACCEPTED:
        return receipt.model_copy(update={"status": ReceiptStatus.ALREADY})
    return receipt


class Effects:
    """The records of all effects, one file each."""

    def __init__(self, folder: Path, root: Path):
        self._folder = folder
        self._root = root

    def read(self, key: str) -> Effect | None:
        """Return the effect claimed under a key; ``None`` when it never was."""
        found = read_record(self._path(key), Effect)
        if found is not None and found.key != key:
            raise RecordCorruptError(f"{self._path(key)} holds another key: {found.key}")
        return found

    def claim(self, effect: Effect) -> Effect:
        """Record an effect unless it was; return the one that stands."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        here(CrashPoint.BEFORE_CLAIM)
        if create_durably(self._path(effect.key), effect.model_dump_json()):
            here(CrashPoint.AFTER_CLAIM)
            return effect
        standing = self.read(effect.key)
        assert standing is not None, f"the record of {effect.key} vanished"
        return standing

    def settle(self, effect: Effect, receipt: Receipt) -> None:
        """Record the answer."""
        settled = effect.model_copy(update={"receipt": receipt})
        here(CrashPoint.BEFORE_RECEIPT)
        write_durably(self._path(effect.key), settled.model_dump_json())
        here(CrashPoint.AFTER_RECEIPT)

    def once(self, key: str, kind: str, subject: str, act: Callable[[], Receipt]) -> Receipt:
        """Do an effect whose act may safely be repeated until its receipt is recorded."""
        effect = self.claim(Effect(key=key, kind=kind, subject=subject))
        if (effect.kind, effect.subject) != (kind, subject):
            return reused(effect)
        if effect.receipt is not None:
            return repeated(effect.receipt)
        receipt = act()
        self.settle(effect, receipt)
        return receipt

    def lookup(self, key: str) -> Found | NotFound | Unknown:
        """Tell whether an effect was taken; one that was only claimed may be asked again."""
        try:
            effect = self.read(key)
        except RecordCorruptError as error:
            return Unknown(why=str(error))
        if effect is None and (why := self.why_forgotten(key)) is not None:
            return Unknown(why=why)
        if effect is None or effect.receipt is None:
            return NotFound()
        if effect.receipt.status is ReceiptStatus.ACCEPTED and not self._is_decided(effect):
            # Claimed, but the host died before the runner came: not taken. If that runner is
            # still on its way, it and the next one contend for the start marker; one wins.
            return NotFound()
        return Found(receipt=effect.receipt)

    def why_forgotten(self, key: str) -> str | None:
        """Say why it cannot be known here whether an effect was taken; ``None`` if it can."""
        return restored.why_forgotten(self._root, key)

    def _is_decided(self, effect: Effect) -> bool:
        if effect.command is None:
            return True
        return SupervisedCommand(self._root / effect.command).is_decided()

    def _path(self, key: str) -> Path:
        return self._folder / f"{file_name(key)}.json"


def reused(effect: Effect) -> Receipt:
    """Refuse a key under which something else was asked."""
    message = f"this key stands for {effect.kind} of {effect.subject}"
    return rejected(effect.key, "key_reused", message)
