"""The durable answers to commands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandReceipt:
    """The durable answer to one accepted command.

    ``scope`` is the run's id, or ``start`` for commands that create a run, or a schedule's (no
    run's id is then given). ``reply`` is the
    JSON the caller was answered with; ``digest`` is over the command as it was asked.
    """

    scope: str
    command_id: str
    digest: str
    run_id: str
    reply: bytes
