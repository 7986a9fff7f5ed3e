"""The ``scripted`` provider: a real process that follows a script instead of a model.

It stands in for an agent in the demonstration and in tests, and is one in every other way: it
has a native session, reports through the workflow's tool, asks people, crashes and hangs.
The script is read and judged here, before the launch; the agent gets plain steps.
"""

import sys
from pathlib import Path
from typing import Final

import pointsman
from pointsman.actors.host import ProviderCapability, ReportingAccess
from pointsman.graph import ids
from pointsman.graph.work import HostRunCause
from pointsman.runtime.durable import create_durably
from pointsman.runtime.providers.base import CommandLine, ProviderRefusedError, Session, Turn
from pointsman.runtime.providers.scripts import STEPS, find_script, parse_script

_AGENT: Final = "pointsman.runtime.providers.scripted_agent"


class ScriptedProvider:
    """Runs scripts. ``agent.options.script`` names the script."""

    name: str = "scripted"
    passed_variables: tuple[str, ...] = ()

    async def capability(self) -> ProviderCapability:
        """Everything works, as there is nothing to install or to sign in to."""
        return ProviderCapability(
            provider=self.name,
            version=pointsman.__version__,
            modes=("edit", "review"),
            resume=True,
        )

    def command(self, turn: Turn, access: ReportingAccess) -> CommandLine:
        """Fix the turn's steps and start the agent program on them."""
        if turn.cause is not HostRunCause.RESUME:
            self._fix_steps(turn)
        # Isolated: neither the folder it starts in (a repository with a `graph/` of its own,
        # say) nor PYTHON* variables can put another `pointsman` in the place of ours.
        isolated = (sys.executable, "-I", "-X", "utf8", "-m", _AGENT)
        return CommandLine(argv=(*isolated, turn.turn_folder))

    @staticmethod
    def _fix_steps(turn: Turn) -> None:
        """Record the session and its steps: the agent may change its own script while it works."""
        name = turn.agent.options.get("script")
        if not isinstance(name, str) or not name:
            raise ProviderRefusedError(
                "script_missing", "the scripted provider needs agent.options.script"
            )
        text = find_script(name, Path(turn.workspace), Path(turn.repository))
        script = parse_script(name, text)
        visit, try_number, branch = place_in_run(turn.attempt_id)
        if turn.cause is HostRunCause.LAUNCH:
            steps = script.for_work(visit, try_number, branch)
        else:
            steps = script.for_reminder(branch)
        folder = Path(turn.session_folder)
        create_durably(folder / f"plan-{turn.ordinal}.json", STEPS.dump_json(steps).decode())
        # The session is there before its process is: killed at whatever moment, it can go on.
        session = Session(session_id=f"scripted-{turn.attempt_id}", resumable=True)
        create_durably(folder / "session.json", session.model_dump_json())


def place_in_run(attempt_id: str) -> tuple[int, int, str | None]:
    """Read the visit's number, the try's number and the branch from an attempt id."""
    try:
        place = ids.place_of(attempt_id)
    except ValueError:
        return 1, 1, None
    visit, last = place.visit.rpartition(".")[2], attempt_id.rpartition(".")[2]
    return int(visit), int(last) if last.isdecimal() else 1, place.branch
