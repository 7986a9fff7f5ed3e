"""Where the change under review stands, read right before a person's approval is judged.

Read outside the mailbox, so that a host which does not answer keeps no cancel waiting, and for a
bounded time: a head that cannot be known is never presumed to be the reviewed one.
"""

import asyncio
from typing import Final

import structlog

from pointsman.actors.host import Host, HostUnavailableError
from pointsman.graph.commands import DecideGate
from pointsman.graph.evidence import HeadReading
from pointsman.graph.intents import ReadHead
from pointsman.graph.results import GateDecision
from pointsman.graph.review_set import ReviewSet
from pointsman.graph.run import Run

log = structlog.get_logger()

HEAD_PATIENCE_S: Final = 30.0


def review_to_compare(run: Run, command: DecideGate) -> ReviewSet | None:
    """Return the review whose head an approval needs; ``None`` if it is refused or needs none."""
    gate = run.visit.gate if run.visit is not None else None
    if gate is None or gate.gate_id != command.gate_id or gate.decision is not None:
        return None
    if command.decision is not GateDecision.APPROVE or command.decision not in gate.offered:
        return None
    return run.reviews.get(gate.review.join) if gate.review is not None else None


async def read_head(
    host: Host, order: ReadHead, patience_s: float = HEAD_PATIENCE_S
) -> HeadReading:
    """Return the head as the host shows it, or why it is not known."""
    try:
        async with asyncio.timeout(patience_s):
            return await host.read_head(order)
    except HostUnavailableError as error:
        why = f"the host cannot be reached: {error}"
    except TimeoutError:
        why = f"the host did not answer within {patience_s:g} s"
    log.warning("head_unknown", visit_id=order.visit_id, why=why)
    return HeadReading(head_commit=None, unavailable=why)
