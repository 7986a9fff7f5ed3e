"""The operations behind every surface: starting runs, acting on them, and taking reports.

Each either answers what is durable, or raises ``PointsmanError`` and has changed nothing.
Reading is ``runtime.views.queries``'s. Nothing here knows of HTTP.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from pointsman.actors.host import Host, HostUnavailableError, RepositoryRefused, RepositoryState
from pointsman.actors.messages import Answer, Message
from pointsman.actors.run_core import answered_before
from pointsman.actors.supervising import Supervising
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.binding import InputProblems, check_inputs
from pointsman.graph.canonical import digest
from pointsman.graph.commands import StartRun
from pointsman.graph.definition import Workflow
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.model import JsonScalar
from pointsman.graph.owed import unfinished
from pointsman.graph.problem import Problem
from pointsman.graph.replies import Reply
from pointsman.runtime.gateway.catalogue import Catalogue
from pointsman.runtime.gateway.reports import Reports
from pointsman.runtime.gateway.telling import tell
from pointsman.runtime.gateway.workspaces import Workspaces
from pointsman.runtime.problems import PROBLEMS, PointsmanError, refused
from pointsman.runtime.requirements import found_skills, lacking_providers
from pointsman.runtime.skills import find_skill
from pointsman.runtime.views.queries import known_run, known_summary
from pointsman.runtime.wire.actions import (
    ActionRequest,
    CancelReply,
    CancelRequest,
    CommandReply,
    command_of,
)
from pointsman.runtime.wire.paths import absolute
from pointsman.runtime.wire.requests import StartReply, StartRequest, Validation, ValidWorkflow
from pointsman.storage.definition_text import read_definition
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalError

log = structlog.get_logger()

_READY_PATIENCE_S: Final = 5.0
_WAIT_PAUSES_S: Final = (0.02, 0.05, 0.1, 0.25)


class Operations:
    """What clients may do. Every mutation may be repeated under its command id."""

    def __init__(
        self,
        journal: Journal,
        supervisor: Supervising,
        host: Host,
        mint_run_id: Callable[[], str],
        home: Path | None = None,
    ) -> None:
        self._journal = journal
        self._supervisor = supervisor
        self._host = host
        self._mint_run_id = mint_run_id
        self._home = home or Path.home()
        self.reports = Reports(journal, supervisor)
        self.catalogue = Catalogue(host, self._home)
        self.workspaces = Workspaces(journal, host)

    async def ready(self) -> bool:
        """Whether the journal can be read and the supervisor answers."""
        try:
            self._journal.next_deadline_ms()
            await asyncio.wait_for(self._supervisor.status(), _READY_PATIENCE_S)
        except (JournalError, WorkerLostError, TimeoutError) as error:
            log.warning("not_ready", error=repr(error))
            return False
        return True

    async def validate(self, text: str, name: str) -> Validation:
        """Check a definition's text; all its problems at once."""
        loaded = await asyncio.to_thread(read_definition, text, name)
        workflow = loaded.workflow
        if workflow is None:
            return Validation(name=name, workflow=None, problems=list(loaded.problems))
        valid = ValidWorkflow(
            id=workflow.id,
            name=workflow.name,
            revision=workflow.revision,
            digest=digest(workflow.model_dump(mode="json", exclude_none=True)),
        )
        return Validation(name=name, workflow=valid, problems=[])

    async def start(self, request: StartRequest) -> StartReply:
        """Start a run, or return the one that the same start made before.

        A refusal comes before anything was made: definition, inputs, providers, repository and
        skills are looked at in this order.
        """
        workflow = await asyncio.to_thread(_valid_workflow, request)
        inputs = _valid_inputs(workflow, request.inputs)
        asked = StartRun(
            run_id=self._mint_run_id(),
            workflow=workflow,
            definition_source=request.source,
            inputs=inputs,
            repository=absolute(request.repository),
            base_commit="",
            base_branch=None,
            started_by=request.started_by,
        )
        try:
            answer = await self._started_before(asked, request.command_id)
            if answer is None:
                command = await self._with_what_is_there(asked)
                message = Message(command.run_id, command, request.command_id)
                answer = await tell(self._supervisor, message)
        except HostUnavailableError as error:
            raise PointsmanError("host_unavailable", f"the host did not answer: {error}") from error
        reply = _accepted(answer)
        return StartReply(run_id=reply.run_id, duplicate=reply.duplicate)

    async def act(self, run_id: str, request: ActionRequest) -> CommandReply:
        """Do what a person asks of a run: decide, resume, retry, review again, answer."""
        reply = await self._tell(run_id, request)
        state = known_summary(self._journal, run_id).state
        return CommandReply(run_id=run_id, duplicate=reply.duplicate, state=state.value)

    async def cancel(self, run_id: str, request: CancelRequest) -> CancelReply:
        """End a run; answers when its processes are gone, or else what is still being ended.

        The cancel itself is durable either way, from before the waiting begins.
        """
        reply = await self._tell(run_id, request)
        await self._until_ended(run_id, request.wait_s)
        run = known_run(self._journal, run_id)
        return CancelReply(
            run_id=run_id,
            duplicate=reply.duplicate,
            ended=run.ended,
            still_ending=[] if run.ended else list(unfinished(run)),
            processes_left=run.processes_left_count,
        )

    async def _until_ended(self, run_id: str, wait_s: float) -> None:
        """Look at the journal until the run has ended, for at most ``wait_s``."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        for pause_s in itertools.chain(_WAIT_PAUSES_S, itertools.repeat(_WAIT_PAUSES_S[-1])):
            left_s = until - loop.time()
            if left_s <= 0 or known_run(self._journal, run_id).ended:
                return
            await asyncio.sleep(min(pause_s, left_s))

    async def _tell(self, run_id: str, request: ActionRequest) -> Reply:
        # Looked up first: an unknown id must not be given a lease and a process.
        known_summary(self._journal, run_id)
        message = Message(run_id, command_of(request), request.command_id)
        return _accepted(await tell(self._supervisor, message))

    async def _started_before(self, asked: StartRun, command_id: str) -> Answer | None:
        """Return the first answer to this start, if there was one.

        The host names a repository by its top folder, which need not be the path the client
        knows; the same wish is recognised by either.
        """
        answer = answered_before(self._journal, Message(asked.run_id, asked, command_id))
        if answer is None or isinstance(answer, Reply):
            return answer
        state = await self._host.inspect_repository(asked.repository)
        if isinstance(state, RepositoryRefused):
            return answer
        asked = asked.model_copy(update={"repository": state.path})
        return answered_before(self._journal, Message(asked.run_id, asked, command_id))

    async def _with_what_is_there(self, asked: StartRun) -> StartRun:
        """Complete a start with what the host shows; refuse it if the host lacks something."""
        await self._refuse_unable_providers(asked.workflow)
        state = await self._host.inspect_repository(asked.repository)
        if isinstance(state, RepositoryRefused):
            raise _refused_repository(asked.repository, state)
        skills = await asyncio.to_thread(self._found_skills, asked.workflow, state)
        return asked.model_copy(
            update={
                "repository": state.path,
                "base_commit": state.head_commit,
                "base_branch": state.branch,
                "left_out": state.uncommitted_paths,
                "skills": skills,
            }
        )

    async def _refuse_unable_providers(self, workflow: Workflow) -> None:
        lacking = lacking_providers(workflow, await self._host.providers())
        if lacking:
            raise _lacking(lacking)

    def _found_skills(
        self, workflow: Workflow, state: RepositoryState
    ) -> tuple[SkillSnapshot, ...]:
        def find(name: str, provider: str) -> SkillSnapshot | None:
            return find_skill(name, provider, Path(state.path), self._home)

        skills, missing = found_skills(workflow, find)
        if missing:
            raise _lacking(missing)
        return skills


def _lacking(problems: tuple[Problem, ...]) -> PointsmanError:
    """Return the error that tells everything of one kind that the environment lacks."""
    told = "; ".join(f"{each.message}: {each.mend}" for each in problems)
    details = [each.model_dump(mode="json") | {"node": each.where[1]} for each in problems]
    return PointsmanError(problems[0].code, told, {"problems": details})


def _accepted(answer: Answer) -> Reply:
    if isinstance(answer, Reply):
        return answer
    raise refused(answer)


def _valid_workflow(request: StartRequest) -> Workflow:
    loaded = read_definition(request.definition, request.source)
    if loaded.workflow is not None:
        return loaded.workflow
    count = len(loaded.problems)
    raise PointsmanError(
        "definition_invalid",
        f"{request.source} has {count} {'problem' if count == 1 else 'problems'}",
        {"problems": [each.model_dump(mode="json") for each in loaded.problems]},
    )


def _valid_inputs(workflow: Workflow, given: Mapping[str, Any]) -> dict[str, JsonScalar]:
    checked = check_inputs(workflow, given)
    if not isinstance(checked, InputProblems):
        return checked
    fields = [each.model_dump(mode="json") for each in checked.fields]
    told = "; ".join(f"{each['path']} {each['problem']}" for each in fields)
    raise PointsmanError("input_invalid", told, {"fields": fields})


def _refused_repository(path: str, why: RepositoryRefused) -> PointsmanError:
    code = why.code if why.code in PROBLEMS else "repository_refused"
    details = {"repository": path, "reason": why.code, "mend": why.mend}
    return PointsmanError(code, f"{why.message}; {why.mend}", details)
