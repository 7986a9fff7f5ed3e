"""The scripted agent: a program that does the steps of one turn and keeps its place.

Run by the ``scripted`` provider as ``python -I -m … <turn folder>``. Its native session is
``progress.json`` in the session folder, made durable before and after each step, so that after
any kind of death a resumed turn goes on at the step that was not finished. The reporting
client is imported only when a report is due: that import takes longer than all the rest.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pointsman.runtime.durable import create_durably, write_durably

_LOOK_EVERY_S: Final = 0.05
_IDENTITY: Final = ("-c", "user.name=Scripted Agent", "-c", "user.email=agent@pointsman.invalid")
_UNSIGNED: Final = ("-c", "commit.gpgsign=false")


_EDITING: Final = frozenset({"write", "append", "replace", "delete", "touch", "commit"})


class GiveUpError(Exception):
    """The script cannot go on; the agent ends with exit code 1."""


class Agent:
    """One turn of one scripted session."""

    def __init__(self, turn_folder: Path):
        self._turn_folder = turn_folder
        self._turn: dict[str, Any] = json.loads((turn_folder / "turn.json").read_text())
        self._session = Path(self._turn["session_folder"])
        self._progress_file = self._session / "progress.json"
        os.chdir(self._turn["workspace"])

    def work(self) -> None:
        """Do the latest plan's steps from the first that was not finished."""
        progress = self._place()
        plan = json.loads((self._session / f"plan-{progress['plan']}.json").read_text())
        for number in range(progress["done"], len(plan)):
            progress |= {"done": number, "begun": True}
            self._keep(progress)
            self._do(plan[number], progress, number)
            progress |= {"done": number + 1, "begun": False}
            self._keep(progress)

    def _place(self) -> dict[str, Any]:
        """Where to begin: in the latest plan, which a killed turn may have kept no step of."""
        plan = max(int(path.stem[5:]) for path in self._session.glob("plan-*.json"))
        known = self._progress()
        if known.get("plan") == plan:
            return known
        return known | {"plan": plan, "done": 0, "begun": False}

    def _progress(self) -> dict[str, Any]:
        if not self._progress_file.exists():
            return {}
        known: dict[str, Any] = json.loads(self._progress_file.read_text())
        return known

    def _keep(self, progress: dict[str, Any]) -> None:
        write_durably(self._progress_file, json.dumps(progress))

    def _do(self, step: dict[str, Any], progress: dict[str, Any], number: int) -> None:
        name = step["do"]
        if self._is_denied(step):
            raise GiveUpError(f"denied in review mode: {name} {step.get('path', '')}".strip())
        if name in _ACTS:
            _ACTS[name](step)
        elif name == "ask_approval":
            self._ask(step, number)
        else:
            self._report(step, progress, number)

    def _is_denied(self, step: dict[str, Any]) -> bool:
        """Deny a reviewer its editing tools; what a command of its own does nobody can deny.

        A file touched outside the worktree is a milestone for whoever waits, and no edit.
        """
        if self._turn["agent"]["mode"] != "review" or step["do"] not in _EDITING:
            return False
        inside = Path(step.get("path", ".")).resolve().is_relative_to(Path.cwd())
        return step["do"] != "touch" or inside

    def _ask(self, step: dict[str, Any], number: int) -> None:
        request = {
            "kind": "input" if step["input"] else "approval",
            "question": step["question"],
            "answerable": "live",
        }
        create_durably(self._turn_folder / f"request-{number}.json", json.dumps(request))
        answer_file = self._turn_folder / f"answer-{number}.json"
        while not answer_file.exists():
            _pause(_LOOK_EVERY_S)
        answer = json.loads(answer_file.read_text())
        _say(f"answer: {json.dumps(answer)}")
        if not answer["allow"] and step["on_deny"] == "exit":
            raise GiveUpError("the request was denied")

    def _report(self, step: dict[str, Any], progress: dict[str, Any], number: int) -> None:
        from pointsman.runtime.providers import reporting_client

        if step["do"] == "read_contract":
            _say(f"contract: {json.dumps(reporting_client.read_contract())}")
            return
        arguments = self._arguments(step, progress, number)
        progress["report"] = arguments
        self._keep(progress)
        reply = reporting_client.report(arguments)
        _say(f"report: {json.dumps(reply)}")
        if step["do"] == "report" and not reply.get("ok"):
            raise GiveUpError("the report was refused")

    @staticmethod
    def _arguments(step: dict[str, Any], progress: dict[str, Any], number: int) -> dict[str, Any]:
        if step["do"] == "report_raw":
            raw: dict[str, Any] = step["arguments"]
            return raw
        if step["do"] == "report_again":
            again: dict[str, Any] | None = progress.get("report")
            if again is None:
                raise GiveUpError("there is no report to repeat")
            return again
        # A key of the place in the script: done again after a crash, it is an exact retry.
        return {
            "protocol_version": step["protocol_version"],
            "retry_key": step["retry_key"] or f"turn-{progress['plan']}-step-{number}",
            "outcome": step["outcome"],
            "summary": step["summary"],
            "data": step["data"],
            "evidence": step["evidence"],
        }


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _pause(seconds: float) -> None:
    select.select([], [], [], seconds)


def _write(step: dict[str, Any]) -> None:
    path = Path(step["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(step["text"])


def _append(step: dict[str, Any]) -> None:
    path = Path(step["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    present = path.read_text() if path.exists() else ""
    if not present.endswith(step["text"]):
        path.write_text(present + step["text"])


def _replace(step: dict[str, Any]) -> None:
    path = Path(step["path"])
    text = path.read_text()
    if step["old"] in text:
        path.write_text(text.replace(step["old"], step["new"]))
    elif step["new"] not in text:
        raise GiveUpError(f"{path} does not hold the text to replace")


def _wait_for_file(step: dict[str, Any]) -> None:
    looks = max(int(step["timeout"] / _LOOK_EVERY_S), 1)
    for _ in range(looks):
        if Path(step["path"]).exists():
            return
        _pause(_LOOK_EVERY_S)
    raise GiveUpError(f"{step['path']} did not appear within {step['timeout']} s")


def _argv(command: str | list[str]) -> list[str]:
    return ["/bin/sh", "-c", command] if isinstance(command, str) else command


def _run(step: dict[str, Any]) -> None:
    code = subprocess.run(_argv(step["command"]), stdin=subprocess.DEVNULL, check=False).returncode
    if code != 0 and not step["any_exit"]:
        raise GiveUpError(f"{step['command']!r} ended with {code}")


def _background(step: dict[str, Any]) -> None:
    started = subprocess.Popen(
        _argv(step["command"]), stdin=subprocess.DEVNULL, start_new_session=step["own_session"]
    )
    started.returncode = 0  # never waited for: it is meant to outlive us


def _commit(step: dict[str, Any]) -> None:
    subprocess.run(["git", "add", "--all"], check=True)
    if subprocess.run(["git", "diff", "--cached", "--quiet"], check=False).returncode == 0:
        _say("nothing to commit")
        return
    message = ("commit", "--quiet", "--message", step["message"])
    subprocess.run(["git", *_IDENTITY, *_UNSIGNED, *message], check=True)


def _crash(step: dict[str, Any]) -> None:
    if step["exit_code"] is not None:
        os._exit(step["exit_code"])
    number = signal.Signals[step["signal"] or "SIGSEGV"]
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    _hang(step)


def _hang(_: dict[str, Any]) -> None:
    while True:
        signal.pause()


def _ignore_sigterm(_: dict[str, Any]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


_ACTS: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "write": _write,
    "append": _append,
    "replace": _replace,
    "delete": lambda step: Path(step["path"]).unlink(missing_ok=True),
    "touch": lambda step: Path(step["path"]).touch(),
    "wait_for_file": _wait_for_file,
    "run": _run,
    "background": _background,
    "commit": _commit,
    "sleep": lambda step: _pause(step["seconds"]),
    "say": lambda step: _say(step["text"]),
    "crash": _crash,
    "hang": _hang,
    "ignore_sigterm": _ignore_sigterm,
}


def main(turn_folder: Path) -> int:
    """Do one turn."""
    try:
        Agent(turn_folder).work()
    except (GiveUpError, OSError, subprocess.SubprocessError) as error:
        _say(f"scripted agent: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
