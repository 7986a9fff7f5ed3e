"""Finding the skills a definition names, and telling one version of a skill from another.

A skill is a folder with a ``SKILL.md``, in one of the conventional places of the repository or,
after those, of the user's home. Its fingerprint covers every file below the folder.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pointsman.graph.definition import AgentNode, Workflow
from pointsman.graph.events import SkillSnapshot

SKILL_FOLDERS: Final = (".agents/skills", ".claude/skills", ".pointsman/skills")
FILES_MAX: Final = 1_000
FILE_BYTES_MAX: Final = 16 * 1024 * 1024


def named_skills(workflow: Workflow) -> tuple[str, ...]:
    """Return the skills the agents of a definition name, each once, in order."""
    named = (node.agent.skill for node in workflow.nodes.values() if isinstance(node, AgentNode))
    return tuple(dict.fromkeys(skill for skill in named if skill is not None))


def find_skill(name: str, repository: Path, home: Path) -> SkillSnapshot | None:
    """Return the skill's identity from the first place that has it, or ``None``."""
    if not name.strip(".") or "/" in name or "\0" in name:
        return None
    for folder in _places(name, repository, home):
        if (folder / "SKILL.md").is_file():
            return SkillSnapshot(name=name, source=str(folder), fingerprint=fingerprint(folder))
    return None


def _places(name: str, repository: Path, home: Path) -> Iterable[Path]:
    return (root / place / name for root in (repository, home) for place in SKILL_FOLDERS)


def fingerprint(folder: Path) -> str:
    """Return ``sha256:`` and the digest over names and contents of all files, in order.

    A symbolic link counts by where it points, without being followed: it might lead anywhere.
    """
    hashed = hashlib.sha256()
    for path in _files(folder):
        content = os.readlink(path).encode() if path.is_symlink() else _content(path)
        name = path.relative_to(folder).as_posix().encode(errors="surrogateescape")
        for part in (name, content):
            hashed.update(len(part).to_bytes(8, "big") + part)
    return "sha256:" + hashed.hexdigest()


def _files(folder: Path) -> list[Path]:
    found = [
        path for path in folder.rglob("*") if path.is_symlink() or stat.S_ISREG(path.stat().st_mode)
    ]
    return sorted(found)[:FILES_MAX]


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(FILE_BYTES_MAX)
