"""What a command is answered with when it is accepted: the events it causes and the reply."""

from pointsman.graph.events import Event
from pointsman.graph.model import Model
from pointsman.graph.rejections import Rejected


class Reply(Model):
    """The answer to an accepted command; the receipt fields belong to reports."""

    run_id: str
    attempt_id: str | None = None
    receipt_id: str | None = None
    accepted_at_ms: int | None = None
    payload_digest: str | None = None
    duplicate: bool = False


class Accepted(Model):
    """The command holds. No events means that it was already so."""

    events: tuple[Event, ...]
    reply: Reply


Verdict = Accepted | Rejected
