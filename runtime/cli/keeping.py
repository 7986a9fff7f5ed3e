"""``backup`` and ``restore``: what they did, and what is not in a backup."""

from dataclasses import asdict
from pathlib import Path
from typing import Final

from pointsman.actors.clock import SystemClock
from pointsman.graph.problem import first_of
from pointsman.runtime import discovery
from pointsman.runtime.care import backups, restoring
from pointsman.runtime.care.migrating import migrate_if_older
from pointsman.runtime.cli import names
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError

_NAMED_MAX: Final = 20


def backup(call: Invocation, target: Path) -> int:
    """Make a backup of the data directory."""
    with discovery.usable(call.data):
        manifest = backups.back_up(call.data, target.absolute(), SystemClock().now_ms())
    if call.terminal.json:
        told = manifest.model_dump(mode="json")
        call.terminal.document(told | {"backup": target.absolute(), "left_out": backups.LEFT_OUT})
        return ExitCode.OK
    size = sum(file.size_bytes for file in manifest.files)
    call.terminal.show(f"{target}  {size / 1e6:.1f} MB, made at {manifest.made_at}")
    _tell_left_out(call)
    return ExitCode.OK


def restore(call: Invocation, source: Path) -> int:
    """Restore a backup into the data directory that was named."""
    if call.data_option is None:
        raise PointsmanError("usage_invalid", "say with --data which new directory to restore into")
    with discovery.usable(call.data):
        done = restoring.restore(source.absolute(), call.data, SystemClock().now_ms())
    if call.terminal.json:
        call.terminal.document(
            {
                "data_directory": call.data.path,
                "made_at": done.manifest.made_at,
                "runs": done.runs,
                "in_flight": done.in_flight,
                "schedules_paused": done.paused,
                "starts_refused": done.refused,
                "left_out": backups.LEFT_OUT,
            }
        )
        return ExitCode.OK
    call.terminal.show(
        f"{done.runs} runs of {done.manifest.made_at} restored into {call.data.path}"
    )
    _list(call, "runs were at work; each will wait for you", map(names.short, done.in_flight))
    _list(call, "schedules come back paused", done.paused)
    _list(call, "starts were on their way and are refused", done.refused)
    _tell_left_out(call)
    return ExitCode.OK


def _list(call: Invocation, what: str, listed: "map[str] | tuple[str, ...]") -> None:
    shown = list(listed)
    if shown:
        call.terminal.show(f"  {len(shown)} {what}: {first_of(shown, _NAMED_MAX)}")


def _tell_left_out(call: Invocation) -> None:
    call.terminal.say("Not in a backup:", style="dim")
    for each in backups.LEFT_OUT:
        call.terminal.say(f"  {each}", style="dim")


def migrate(call: Invocation, *, rebuild: bool) -> int:
    """Migrate the data directory, unless a server works on it."""
    done = None
    if call.data.journal.exists():
        with discovery.usable(call.data), discovery.held(call.data):
            done = migrate_if_older(call.data, SystemClock().now_ms(), anew=rebuild)
    if call.terminal.json:
        call.terminal.document({"migrated": None if done is None else asdict(done)})
    elif done is None:
        call.terminal.show(f"{call.data.path} needs no migration.")
    else:
        call.terminal.show(
            f"Format {done.from_format} → {done.to_format}, {done.runs} runs derived anew;"
            f" as it was before: {done.backup}"
        )
    return ExitCode.OK
