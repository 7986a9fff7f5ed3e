"""The acceptance example as a host lives through it, in a process that may kill itself.

A change is made, checked and committed for review; two reviewers get frozen worktrees, look and
are let go of. Run as a program it takes a folder and, to die there, a place of ``crash_points``
with the number of its pass. Told again after any death, the story must end as undisturbed.
"""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from pointsman.actors.crash_points import arm
from pointsman.graph.reviews import Uncommitted
from pointsman.graph.work import CheckExited
from tests.harness.host_reviews import HostReviewBench
from tests.harness.hosts import NOWHERE, git, setup_of, work_below

ROOT: Final = Path(__file__).parents[2]
REVIEWERS: Final = ("code", "security")
WITNESSES: Final = ("implemented", "checked", *(f"reviewed-{each}" for each in REVIEWERS))


def die_in_the_story(folder: Path, place: str) -> bool:
    """Tell the story to a host that dies at a place; ``False`` if it never came there."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.harness.host_story", str(folder), place],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode == -signal.SIGKILL


def story_of(folder: Path) -> dict[str, Any]:
    """Tell the story to a host that lives, and return how it ended."""
    with _bench(folder) as bench:
        return _tell(bench)


def _bench(folder: Path) -> HostReviewBench:
    repository = folder / "repository"
    return HostReviewBench(folder, None if not repository.exists() else repository)


def _tell(bench: HostReviewBench) -> dict[str, Any]:
    # Each leaves a line where it cannot be lost with a worktree.
    witness = bench.data.parent
    script = witness / "implement.yaml"
    done = f"echo once >> {witness}/implemented; echo new > change.txt"
    script.write_text(f"steps: [{{run: {done}}}]")
    assert bench.prepare(setup_of("true")).reason is None
    launched = bench.host.launch(bench.launch_order(str(script)), NOWHERE)
    assert bench.call(launched).reason is None
    ended = {"implement": [run.status for run in bench.until_quiet().runs]}
    assert bench.start_check(f"echo once >> {witness}/checked").reason is None
    checked = bench.until_checked()
    assert isinstance(checked, CheckExited), checked
    frozen = bench.freeze(uncommitted=Uncommitted.COMMIT)
    commit = str(frozen.host_ref["frozen_commit"])
    for reviewer in REVIEWERS:
        look = witness / f"{reviewer}.yaml"
        look.write_text(f"steps: [{{run: echo once >> {witness}/reviewed-{reviewer}}}]")
        bench.prepare_reviewer(reviewer, commit, setup_of("true"))
        launched = bench.host.launch(bench.review_order(str(look), reviewer), NOWHERE)
        assert bench.call(launched).reason is None
    for reviewer in REVIEWERS:
        work = bench.until_quiet(bench.attempt(reviewer))
        ended[reviewer] = [run.status for run in work.runs]
    unchanged = {each: bench.verify(commit, each).changed for each in REVIEWERS}
    released = {each: dict(bench.release_reviewer(each).host_ref) for each in REVIEWERS}
    return {
        "ended": ended,
        "exit_code": checked.exit_code,
        "committed": frozen.host_ref["committed"],
        "commits": git(bench.workspace, "rev-list", "--count", "main..HEAD"),
        "is_head": git(bench.workspace, "rev-parse", "HEAD") == commit == bench.frozen(),
        "unchanged": unchanged,
        "worktrees": len(git(bench.repository, "worktree", "list").splitlines()),
        "kept": {name: each["kept"] for name, each in released.items()},
        "left": sorted(path.name for path in (bench.data / "workspaces").iterdir()),
        "once": {name: (witness / name).read_text() for name in WITNESSES},
        "attempts": sorted(path.name for path in (bench.data / "host" / "attempts").iterdir()),
        "processes": len(work_below(bench.data)),
    }


def main(folder: Path, place: str) -> None:
    """Tell the story once, or die at the place."""
    with _bench(folder) as bench:
        arm(place)
        _tell(bench)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
