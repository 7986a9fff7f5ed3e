"""A server in the background: started in a session of its own, gone when there is no work.

``serve`` itself lives here too, as it is the other end of the same arrangement.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Final

from pointsman.runtime import discovery
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.journals import make_data_directory
from pointsman.runtime.problems import PointsmanError

if TYPE_CHECKING:
    from pointsman.runtime.client import Client

START_PATIENCE_S: Final = 60.0
IDLE_BEFORE_END_S: Final = 15.0
_LOOK_EVERY_S: Final = 0.1


def ensure_server(data: DataDirectory, terminal: Terminal) -> None:
    """Return when a server of the data directory is up, starting one in the background."""
    server: subprocess.Popen[bytes] | None = None
    give_up = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < give_up:
        if discovery.running_server(data) is not None:
            if server is not None:
                server.returncode = 0  # it lives on without us: never to be waited for
            return
        # Another process may be becoming the server just now, or the last one may be ending.
        if not discovery.is_held(data):
            if server is None:
                said = f"Starting a server in the background; its log is {data.log}"
                terminal.say(said, style="dim")
                server = _begin(data)
            elif server.poll() is not None:
                break
        threading.Event().wait(_LOOK_EVERY_S)
    raise PointsmanError("server_unreachable", f"the server did not come up; see {data.log}")


def _begin(data: DataDirectory) -> "subprocess.Popen[bytes]":
    command = (sys.executable, "-m", "pointsman", "serve", "--until-idle", "--data", str(data.path))
    with discovery.usable(data):
        make_data_directory(data)
        log = data.log.open("ab")
    with log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )


def serve(call: Invocation, port: int | None, *, until_idle: bool) -> int:
    """Serve the data directory until a signal, or until there is nothing to do."""
    # Loading the actors takes a second.
    from pointsman.runtime.app import start_runtime
    from pointsman.runtime.client import Client

    stop = threading.Event()

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    call.terminal.say(f"Starting on {call.data.path} …", style="dim")
    with start_runtime(call.data, port, lasting=True) as runtime:
        # After the start: the actors' library sets a handler of its own for SIGTERM.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, request_stop)
        if call.terminal.json:
            call.terminal.document({"url": runtime.url, "pid": os.getpid()})
        else:
            call.terminal.show(f"Serving {call.data.path} at {runtime.url}; Ctrl-C ends it.")
        if until_idle:
            with Client(runtime.url, runtime.token) as client:
                _until_idle(client, stop)
        else:
            stop.wait()
        call.terminal.say("Stopping; agents at work go on and are adopted again.", style="dim")
    return ExitCode.OK


def _until_idle(client: "Client", stop: threading.Event) -> None:
    """Return when no run has been under way for a while; what waits for a person needs nobody."""
    busy_at = time.monotonic()
    while time.monotonic() - busy_at < IDLE_BEFORE_END_S:
        if client.runs(states=("running",), limit=1):
            busy_at = time.monotonic()
        if stop.wait(1.0):
            return
