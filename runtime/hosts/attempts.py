"""The folders of attempts: each has its order, its session and its turns.

``attempts/<attempt>/attempt.json``, ``…/session/`` and ``…/turns/<n>/``; a turn's folder is the
folder of its supervised command too (``supervised``), beside what ``providers.base`` lists.
"""

import re
from pathlib import Path
from typing import Final, Literal

from pointsman.graph.intents import LaunchExecution
from pointsman.graph.model import Model
from pointsman.graph.work import HostRunCause, NativeRequest, WorkFailure
from pointsman.runtime.durable import create_durably, file_name
from pointsman.runtime.processes.supervised import (
    RecordCorruptError,
    SupervisedCommand,
    read_record,
)
from pointsman.runtime.providers.base import (
    AnswerFile,
    NativeWork,
    RequestFile,
    Session,
    Turn,
)

_REQUEST_FILE: Final = re.compile(r"^request-([A-Za-z0-9-]{1,64})\.json$")
_REQUEST_ID: Final = re.compile(r"^t([1-9][0-9]{0,5})\.([A-Za-z0-9-]{1,64})$")


class AttemptRecord(Model):
    """What an attempt was launched with; its later turns need it again."""

    order: LaunchExecution
    workspace: str
    repository: str
    env: dict[str, str]


class StopRecord(Model):
    """The engine asked for the end of this turn, or of the attempt after it."""

    by: Literal["engine"] = "engine"
    reason: str


class TurnFolder:
    """One turn of an attempt."""

    def __init__(self, folder: Path, ordinal: int):
        self.folder = folder
        self.ordinal = ordinal
        self.command = SupervisedCommand(folder)

    def turn(self) -> Turn | None:
        return read_record(self.folder / "turn.json", Turn)

    def claim(self, turn: Turn) -> bool:
        """Take the ordinal for a turn; ``False`` when another effect has it already."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if create_durably(self.folder / "turn.json", turn.model_dump_json()):
            return True
        standing = self.turn()
        return standing is not None and standing.cause_key == turn.cause_key

    def stop(self) -> StopRecord | None:
        return read_record(self.folder / "stop.json", StopRecord)

    def ask_to_stop(self, reason: str) -> None:
        """Record that the engine wants this turn ended, before anything is done about it."""
        create_durably(self.folder / "stop.json", StopRecord(reason=reason).model_dump_json())

    def native_work(self) -> NativeWork:
        return read_record(self.folder / "work.json", NativeWork) or NativeWork()

    def failure(self) -> WorkFailure | None:
        return read_record(self.folder / "failure.json", WorkFailure)

    def open_requests(self) -> tuple[NativeRequest, ...]:
        """List the questions nobody has answered yet."""
        found: list[NativeRequest] = []
        for name in sorted(self._names()):
            if (match := _REQUEST_FILE.match(name)) is None or self._answered(match[1]):
                continue
            if (asked := read_record(self.folder / name, RequestFile)) is not None:
                request_id = f"t{self.ordinal}.{match[1]}"
                found.append(NativeRequest(request_id=request_id, **asked.model_dump()))
        return tuple(found)

    def _names(self) -> list[str]:
        return [entry.name for entry in self.folder.iterdir()] if self.folder.is_dir() else []

    def _answered(self, local_id: str) -> bool:
        return (self.folder / f"answer-{local_id}.json").exists()

    def has_request(self, local_id: str) -> bool:
        return (self.folder / f"request-{local_id}.json").exists()

    def answer(self, local_id: str, answer: AnswerFile) -> bool:
        """Give the one answer; ``False`` when a different one was given before."""
        path = self.folder / f"answer-{local_id}.json"
        if create_durably(path, answer.model_dump_json()):
            return True
        return read_record(path, AnswerFile) == answer


class AttemptFolder:
    """One attempt."""

    def __init__(self, root: Path, attempt_id: str):
        self.attempt_id = attempt_id
        self.folder = root / "attempts" / file_name(attempt_id)
        self.session_folder = self.folder / "session"

    def record(self) -> AttemptRecord | None:
        return read_record(self.folder / "attempt.json", AttemptRecord)

    def keep(self, record: AttemptRecord) -> bool:
        """Record the order; ``False`` when another order has this attempt already."""
        self.session_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if create_durably(self.folder / "attempt.json", record.model_dump_json()):
            return True
        standing = self.record()
        return standing is not None and standing.order.intent_id == record.order.intent_id

    def session(self) -> Session | None:
        try:
            return read_record(self.session_folder / "session.json", Session)
        except RecordCorruptError:
            return None  # a session that cannot be read cannot be proven resumable either

    def turn(self, ordinal: int) -> TurnFolder:
        return TurnFolder(self.folder / "turns" / str(ordinal), ordinal)

    def turns(self) -> tuple[TurnFolder, ...]:
        """List the turns in order."""
        parent = self.folder / "turns"
        if not parent.is_dir():
            return ()
        ordinals = sorted(int(entry.name) for entry in parent.iterdir() if entry.name.isdigit())
        return tuple(self.turn(ordinal) for ordinal in ordinals)

    def requested(self, request_id: str) -> tuple[TurnFolder, str] | None:
        """Find the turn and the provider's own id of a native request."""
        if (match := _REQUEST_ID.match(request_id)) is None:
            return None
        turn = self.turn(int(match[1]))
        return (turn, match[2]) if turn.has_request(match[2]) else None

    def describe(self, ordinal: int, cause: HostRunCause, key: str, text: str | None) -> Turn:
        """Describe a turn to its provider."""
        record = self.record()
        assert record is not None, f"{self.attempt_id} has no order"
        return Turn(
            attempt_id=self.attempt_id,
            thread_id=record.order.thread_id,
            ordinal=ordinal,
            cause=cause,
            cause_key=key,
            text=text,
            agent=record.order.agent,
            workspace=record.workspace,
            repository=record.repository,
            session_folder=str(self.session_folder),
            turn_folder=str(self.turn(ordinal).folder),
        )
