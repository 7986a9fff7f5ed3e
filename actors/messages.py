"""What travels between the gateway, the supervisor and the run actors."""

from dataclasses import dataclass
from typing import Final

from pointsman.graph.commands import Command
from pointsman.graph.model import Model
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply

START_SCOPE: Final = "start"


@dataclass(frozen=True, slots=True)
class Message:
    """A command on its way to its run.

    With a ``command_id`` an accepted command's reply is kept, and the same id with the same
    command is answered with it again; ``scope`` is where that id is unique (the run, or all
    starts).
    """

    run_id: str
    command: Command
    command_id: str | None = None

    @property
    def scope(self) -> str:
        return START_SCOPE if self.command.kind == "start_run" else self.run_id


class Unavailable(Model):
    """The command was not judged and changed nothing; the same one may be sent again."""

    code: str
    message: str


Answer = Reply | Rejected | Unavailable
