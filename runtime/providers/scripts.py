"""The format of agent scripts, and where a script is looked for.

A script is what a ``scripted`` agent does, in YAML or JSON::

    steps:                                   # what is done when nothing below fits better
      - write: {path: greeting.txt, text: "hello\n"}
      - commit: Add a greeting
      - report: {outcome: completed, summary: Done, data: {risk: low}}
    visits:                                  # by the number of the node's visit, 1-based
      2: [{say: The check failed; mending}, {replace: {path: greeting.txt, old: hello, new: hi}}]
    tries:                                   # by the number of the try, after a person's Retry
      2: [report: {outcome: completed, summary: Done at the second try}]
    on_reminder: [report_again]              # what is done when the workflow asks for the report
    branches:                                # by the branch of a group that the agent reviews
      security: [report: {outcome: failed, summary: A secret in the log}]
      style: {visits: {2: [report: {outcome: completed, summary: Mended}]}}

For a turn the first that fits is taken: ``on_reminder`` for a reminder (without one, nothing is
done), a fitting ``tries`` from the second try on, a fitting ``visits``, ``steps``. A branch may
have all of these of its own, which come first; where it has none that fits, the script's do. Its
visit is that of its group.

A resumed turn goes on at the first step that was not finished; that step is done again, so each
is safe to repeat: ``report`` repeats under the same retry key, ``commit`` without changes does
nothing, ``run`` and ``background`` run again. In review mode ``write``, ``append``, ``replace``,
``delete``, ``commit`` and a ``touch`` in the worktree are denied and end the agent with 1.

Steps are listed in ``Step``. A step with one main value may be written short (``say: hello``,
``sleep: 2``, ``run: make``, ``crash: 3``), one without any as its bare name (``hang``).
"""

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import yaml
from pydantic import Field, JsonValue, TypeAdapter

from pointsman.graph.definition import Argv
from pointsman.graph.model import Model
from pointsman.runtime.providers.base import ProviderRefusedError
from pointsman.runtime.providers.script_mistakes import mistakes

SCRIPT_BYTES_MAX: Final = 1024 * 1024
_PACKAGED: Final = "pointsman:"
_SUFFIXES: Final = ("", ".yaml", ".yml", ".json")


class Write(Model):
    """Write a file, making its folders. Relative paths lie in the workspace."""

    do: Literal["write"]
    path: str
    text: str


class Append(Model):
    """Add text to a file's end, unless it ends with that text already."""

    do: Literal["append"]
    path: str
    text: str


class Replace(Model):
    """Replace each occurrence of a text in a file; it must occur, or be replaced already."""

    do: Literal["replace"]
    path: str
    old: str
    new: str


class Delete(Model):
    """Remove a file, if it is there."""

    do: Literal["delete"]
    path: str


class Touch(Model):
    """Make an empty file: a milestone that a test waits for."""

    do: Literal["touch"]
    path: str


class WaitForFile(Model):
    """Wait until a file exists, at most ``timeout`` seconds."""

    do: Literal["wait_for_file"]
    path: str
    timeout: float = 60.0


class Run(Model):
    """Run a command in the workspace; unless ``any_exit``, a failure ends the agent with 1."""

    do: Literal["run"]
    command: Argv | str
    any_exit: bool = False


class Background(Model):
    """Start a command and leave it running; ``own_session`` takes it out of our session."""

    do: Literal["background"]
    command: Argv | str
    own_session: bool = False


class Commit(Model):
    """Commit everything under the agent's own name; nothing happens when nothing changed."""

    do: Literal["commit"]
    message: str


class Sleep(Model):
    """Take a while."""

    do: Literal["sleep"]
    seconds: float = Field(ge=0, le=3600)


class Say(Model):
    """Print a line."""

    do: Literal["say"]
    text: str


class Report(Model):
    """Report through the workflow's tool; a refused report ends the agent with 1."""

    do: Literal["report"]
    outcome: str
    summary: str
    data: dict[str, JsonValue] = {}
    evidence: tuple[JsonValue, ...] = ()
    retry_key: str | None = None
    protocol_version: int = 1


class ReportRaw(Model):
    """Call the reporting tool with these very arguments; the answer is printed only."""

    do: Literal["report_raw"]
    arguments: dict[str, JsonValue]


class ReportAgain(Model):
    """Repeat the latest report of this session exactly."""

    do: Literal["report_again"]


class ReadContract(Model):
    """Ask the workflow for this attempt's report contract and print it."""

    do: Literal["read_contract"]


class AskApproval(Model):
    """Ask a person and wait for the answer; a refusal ends the agent with 1, or is printed."""

    do: Literal["ask_approval"]
    question: str
    input: bool = False
    on_deny: Literal["exit", "go_on"] = "exit"


class Crash(Model):
    """End at once, by a signal (by default SIGSEGV, a crash) or with an exit code."""

    do: Literal["crash"]
    signal: str | None = None
    exit_code: int | None = Field(default=None, ge=0, le=255)


class Hang(Model):
    """Do nothing, for ever."""

    do: Literal["hang"]


class IgnoreSigterm(Model):
    """From now on ignore SIGTERM."""

    do: Literal["ignore_sigterm"]


_MAIN_VALUE: Final = {
    "append": "text",
    "ask_approval": "question",
    "background": "command",
    "commit": "message",
    "crash": "exit_code",
    "delete": "path",
    "report_raw": "arguments",
    "run": "command",
    "say": "text",
    "sleep": "seconds",
    "touch": "path",
    "wait_for_file": "path",
}


def _long_form(value: object) -> object:
    """Write every step of a script in full."""
    if not isinstance(value, dict):
        return value
    return {
        name: _long_branches(given) if name == "branches" else _long_steps(given)
        for name, given in value.items()
    }


def _long_branches(value: object) -> object:
    """Write each branch in full; a plain list is its steps."""
    if not isinstance(value, dict):
        return value
    return {
        name: _long_form({"steps": given} if isinstance(given, list) else given)
        for name, given in value.items()
    }


def _long_steps(value: object) -> object:
    if isinstance(value, list):
        return [_step(step) for step in value]
    if isinstance(value, dict):
        return {number: _long_steps(steps) for number, steps in value.items()}
    return value


def _step(value: object) -> object:
    """Read ``{write: {path: …}}``, ``{say: hello}`` or ``hang`` as a step."""
    if isinstance(value, str):
        return {"do": value}
    if not isinstance(value, dict) or "do" in value or len(value) != 1:
        return value
    ((name, given),) = value.items()
    if name == "crash" and isinstance(given, str):
        return {"do": name, "signal": given}
    if isinstance(given, dict) and name != "report_raw":
        return {"do": name, **_with_tuples(given)}
    if name == "report_raw" and isinstance(given, dict) and given.keys() == {"arguments"}:
        return {"do": name, **given}
    if given is None or given is True:
        return {"do": name}
    return {"do": name, **_with_tuples({_MAIN_VALUE.get(str(name), "value"): given})}


def _with_tuples(given: dict[Any, Any]) -> dict[Any, Any]:
    """Turn lists into tuples: a value made here is judged as Python's, no longer as JSON."""
    return {key: tuple(each) if isinstance(each, list) else each for key, each in given.items()}


Step = Annotated[
    Write
    | Append
    | Replace
    | Delete
    | Touch
    | WaitForFile
    | Run
    | Background
    | Commit
    | Sleep
    | Say
    | Report
    | ReportRaw
    | ReportAgain
    | ReadContract
    | AskApproval
    | Crash
    | Hang
    | IgnoreSigterm,
    Field(discriminator="do"),
]
Steps = tuple[Step, ...]
_STEP_NAMES: Final = tuple(
    get_args(each.model_fields["do"].annotation)[0] for each in get_args(get_args(Step)[0])
)
STEPS: Final = TypeAdapter[tuple[Any, ...]](Steps)


class Part(Model):
    """The steps of the turns of one branch, or of all that nobody else has steps for."""

    steps: Steps | None = None
    visits: dict[int, Steps] = {}
    tries: dict[int, Steps] = {}
    on_reminder: Steps | None = None

    def fitting(self, visit: int, try_number: int) -> Steps | None:
        """Return what is done in a try of a visit; ``None`` when nothing is said of it."""
        if try_number > 1 and try_number in self.tries:
            return self.tries[try_number]
        return self.visits.get(visit, self.steps)


class Script(Part):
    """One script: the steps of every turn it is made for."""

    branches: dict[str, Part] = {}

    def for_work(self, visit: int, try_number: int, branch: str | None = None) -> Steps:
        """Return what is done in a try of a visit, by the reviewer of a branch if there is one."""
        steps = self._of(branch).fitting(visit, try_number)
        return steps if steps is not None else self.fitting(visit, try_number) or ()

    def for_reminder(self, branch: str | None = None) -> Steps:
        """Return what is done when the workflow asks for the report."""
        steps = self._of(branch).on_reminder
        return steps if steps is not None else self.on_reminder or ()

    def _of(self, branch: str | None) -> Part:
        return self.branches.get(branch, Part()) if branch is not None else Part()


def find_script(name: str, workspace: Path, repository: Path) -> str:
    """Return the text of a script.

    ``pointsman:name`` is a packaged one. Any other name is looked for as a path (absolute, or
    relative to the workspace), in ``.pointsman/scripts`` of the workspace, then of the
    repository, and among the packaged ones; the suffix may be left out.
    """
    packaged = resources.files("pointsman.examples") / "scripts"
    if name.startswith(_PACKAGED):
        places: list[Any] = [packaged]
        name = name.removeprefix(_PACKAGED)
    else:
        own = Path(".pointsman") / "scripts"
        places = [workspace, workspace / own, repository / own]
        if "/" not in name:
            places.append(packaged)
    for place in places:
        for suffix in _SUFFIXES:
            path = place / f"{name}{suffix}"
            if path.is_file():
                raw: bytes = path.read_bytes()
                return _text(name, raw)
    raise ProviderRefusedError(
        "script_missing",
        f"there is no script {name} in the workspace, in .pointsman/scripts or packaged",
    )


def _text(name: str, raw: bytes) -> str:
    if len(raw) > SCRIPT_BYTES_MAX:
        raise ProviderRefusedError("script_invalid", f"{name} exceeds {SCRIPT_BYTES_MAX} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise ProviderRefusedError("script_invalid", f"{name}: {error}") from error


def parse_script(name: str, text: str) -> Script:
    """Read a script; every mistake is named with its line and its place."""
    try:
        # Through JSON, so that strictness holds while lists may become tuples.
        return Script.model_validate_json(json.dumps(_long_form(yaml.safe_load(text))))
    except (yaml.YAMLError, TypeError, ValueError) as error:
        told = mistakes(error, text, _STEP_NAMES)
        raise ProviderRefusedError("script_invalid", f"the script {name}: {told}") from error
