"""What the local host needs of a provider, and what a provider's process may tell the host.

A provider turns one turn of an attempt into one command line. The process that this starts (the
agent itself, or a driver that speaks the agent's own protocol) outlives the host, so the two
talk through files, each replaced atomically:

in the session folder, kept over all turns of an attempt
    ``session.json``        ``Session``: the native session and whether it can be resumed
in the turn folder
    ``turn.json``           ``Turn``: written by the host before the start
    ``request-<id>.json``   ``RequestFile``: a question to a person
    ``answer-<id>.json``    ``AnswerFile``: written by the host, once
    ``work.json``           ``NativeWork``: native children and background work, if there are any
    ``failure.json``        ``WorkFailure``: what went wrong in the provider's own words
"""

from collections.abc import Mapping
from typing import Final, Literal, Protocol

from pointsman.actors.host import ProviderCapability, ReportingAccess
from pointsman.graph.definition import AgentChoice
from pointsman.graph.model import Model
from pointsman.graph.work import BackgroundTask, Child, HostRunCause, RequestKind

REPORT_URL: Final = "POINTSMAN_REPORT_URL"
REPORT_TOKEN: Final = "POINTSMAN_REPORT_TOKEN"


class Turn(Model):
    """One native turn, as it is given to the provider's process. No secret stands in it."""

    attempt_id: str
    thread_id: str
    ordinal: int
    cause: HostRunCause
    cause_key: str
    text: str | None
    agent: AgentChoice
    workspace: str
    repository: str
    session_folder: str
    turn_folder: str


class CommandLine(Model):
    """What to execute for a turn. ``secrets`` names the variables to blot out of the output."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    secrets: tuple[str, ...] = (REPORT_TOKEN,)


class Session(Model):
    """The native session of an attempt."""

    session_id: str
    resumable: bool


class RequestFile(Model):
    """A question of the provider's process to a person."""

    kind: RequestKind
    question: str
    answerable: Literal["live", "message", "no"] = "live"


class AnswerFile(Model):
    """A person's answer."""

    allow: bool
    text: str | None = None


class NativeWork(Model):
    """Work inside the provider's process that the process table does not show."""

    children: tuple[Child, ...] = ()
    background: tuple[BackgroundTask, ...] = ()
    owed_wakes: int = 0


class ProviderRefusedError(Exception):
    """The provider cannot do this turn. ``code`` is stable."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type["ProviderRefusedError"], tuple[str, str]]:
        return type(self), (self.code, str(self))


class Provider(Protocol):
    """One kind of agent that the local host can run."""

    @property
    def name(self) -> str:
        """The name a workflow's author writes."""
        ...

    @property
    def passed_variables(self) -> tuple[str, ...]:
        """Variables of the host's own environment the agent needs; ``X_*`` means all such."""
        ...

    async def capability(self) -> ProviderCapability:
        """Prove what the provider can do here."""
        ...

    def command(self, turn: Turn, access: ReportingAccess) -> CommandLine:
        """Return the command line of a turn; raise ``ProviderRefusedError`` when there is none.

        It must be the same whenever it is asked for the same turn: after a crash before the
        start it is asked again. Blocking reads are allowed, as it is called in a thread.
        """
        ...


Providers = Mapping[str, Provider]
