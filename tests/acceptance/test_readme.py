"""Goal: what the README shows is what happens.

Method: each block of the README says in a comment above it how it is tested. Those marked
``here`` are run as one script, in a fresh repository with a server up; the others name the test
that runs them, or are compared with what they quote.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from pointsman.actors.metrics import DECLARED
from pointsman.runtime import discovery
from pointsman.runtime.exit_codes import MEANINGS
from tests.harness.command_line import PATIENCE_S, PROGRAM, CommandLine
from tests.harness.hosts import wait_until
from tests.tidy.source_files import ROOT, repository_files

README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(
    r"(?:<!-- tested: (?P<how>.+?) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL
)
PICTURE: Final = 1  # the first block is the picture

# `make demo` installs into .venv and calls the program; here it is installed already.
SCRIPT_HEAD: Final = """
set -e
git config user.name Reader
git config user.email reader@example.org
make() { test "$1" = demo && .venv/bin/pointsman demo; }
"""


class Block(NamedTuple):
    """One fenced block and how it is tested."""

    how: str | None
    kind: str
    text: str


BLOCKS: Final = [Block(*found.group("how", "kind", "text")) for found in BLOCK.finditer(README)]


def blocks(how: str) -> list[str]:
    return [block.text for block in BLOCKS if block.how == how]


def test_every_block_says_how_it_is_tested() -> None:
    untested = [block.text for block in BLOCKS[PICTURE:] if block.how is None]
    assert untested == []


def test_the_tests_that_blocks_name_exist() -> None:
    named = {Path(block.how) for block in BLOCKS if block.how and block.how.startswith("tests/")}
    assert named <= set(repository_files())


def test_every_link_leads_to_something() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_quoted_decision_is_the_starters() -> None:
    starter = ROOT / "examples" / "workflows" / "change-any-repository.yaml"
    (quoted,) = blocks("starter")
    assert quoted in starter.read_text(encoding="utf-8")


def test_the_quoted_group_is_the_packaged_workflows() -> None:
    packaged = ROOT / "examples" / "workflows" / "reviewed-change.yaml"
    (quoted,) = blocks("packaged")
    assert quoted in packaged.read_text(encoding="utf-8")


def test_the_quoted_case_is_the_templates() -> None:
    template = ROOT / "examples" / "templates" / "implement-check-review-fix"
    (quoted,) = blocks("case")
    assert any(quoted in cases.read_text() for cases in template.rglob("*.test.yaml"))


def test_the_quoted_scrape_configuration_is_the_packaged_one() -> None:
    packaged = ROOT / "examples" / "monitoring" / "prometheus.yml"
    (quoted,) = blocks("scraping")
    assert quoted in packaged.read_text(encoding="utf-8")


def test_the_metrics_are_those_that_are_declared() -> None:
    labels = {name: ", ".join(f"`{each}`" for each in it.labels) for name, it in DECLARED.items()}
    rows = [f"| `{name}` | {labels[name]} | {DECLARED[name].help} |" for name in sorted(DECLARED)]
    assert re.findall(r"^\| `pointsman_.*$", README, re.MULTILINE) == rows


def test_the_exit_codes_are_those_of_the_program() -> None:
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in README


def test_make_demo_calls_the_demonstration() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo:")[2]
    assert "$(BIN)/pointsman demo\n" in recipe.partition("\n\n")[0] + "\n"


@pytest.fixture(scope="module")
def toured(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[subprocess.CompletedProcess[str]]:
    """Everything marked ``here``, run in its order."""
    with CommandLine(tmp_path_factory.mktemp("readme"), LC_ALL="C.UTF-8") as shell:
        shell.begin("serve")
        wait_until(lambda: discovery.running_server(shell.data), PATIENCE_S)
        program = shell.repository / ".venv" / "bin" / "pointsman"
        program.parent.mkdir(parents=True)
        program.symlink_to(PROGRAM)
        yield subprocess.run(
            ["/bin/bash"],
            cwd=shell.repository,
            env={"POINTSMAN_DATA": str(shell.data.path), "PATH": "/usr/bin:/bin"},
            input=SCRIPT_HEAD + "\n".join(blocks("here")),
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
            check=False,
        )


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(900)
def test_every_command_of_the_tour_succeeds(toured: subprocess.CompletedProcess[str]) -> None:
    assert toured.returncode == 0, f"{toured.stdout[-2000:]}\n{toured.stderr[-4000:]}"


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(900)
def test_the_commands_show_what_the_readme_says_they_show(
    toured: subprocess.CompletedProcess[str],
) -> None:
    told = [line.strip() for line in toured.stdout.splitlines()]
    quoted = [line.strip() for text in blocks("shown") for line in text.splitlines()]
    assert [line for line in quoted if line not in told] == []


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(900)
def test_the_demonstration_says_what_the_readme_shows(
    toured: subprocess.CompletedProcess[str],
) -> None:
    (quoted,) = blocks("demonstration")
    told = timeless(toured.stderr)
    missing = [line for line in timeless(quoted) if line not in told]
    assert missing == []


def timeless(text: str) -> list[str]:
    """Return the lines without times, ids and commits."""
    bare = re.sub(r"r0-[0-9a-z]{26}", "RUN", re.sub(r" *\d+\.\d s", " TIME", text))
    return re.sub(r"\b[0-9a-f]{8}\b", "COMMIT", bare).splitlines()
