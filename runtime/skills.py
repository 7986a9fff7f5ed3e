"""Finding the skills a definition names, and telling one version of a skill from another.

A skill is a folder with a ``SKILL.md``. Each provider has places of its own, in the repository
and after those in the user's home; then come the places that all share. Which folder was found
is part of a run's snapshot and of the agent's prompt, so no other can slip in for it later.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from pointsman.graph.events import SkillSnapshot

SHARED_FOLDERS: Final = (".agents/skills", ".claude/skills", ".pointsman/skills")
# Where each harness itself looks, in its own order.
PROVIDER_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "claude": (".claude/skills",),
        "codex": (".agents/skills", ".codex/skills"),
        "opencode": (".opencode/skills", ".claude/skills", ".agents/skills"),
    }
)
SKILLS_MAX: Final = 500
FILES_MAX: Final = 1_000
FILE_BYTES_MAX: Final = 16 * 1024 * 1024


class SkillFault(NamedTuple):
    """Why a skill is not the one a run was started with."""

    code: Literal["skill_missing", "skill_changed"]
    message: str


def places(provider: str) -> tuple[str, ...]:
    """Return the folders that may hold a provider's skills, the first come first."""
    return tuple(dict.fromkeys((*PROVIDER_FOLDERS.get(provider, ()), *SHARED_FOLDERS)))


def find_skill(name: str, provider: str, repository: Path, home: Path) -> SkillSnapshot | None:
    """Return the skill's identity from the first place that has it, or ``None``."""
    if not name.strip(".") or "/" in name or "\0" in name:
        return None
    for parent in _parents(provider, repository, home):
        if (found := _skill(parent / name, provider)) is not None:
            return found
    return None


def discover(provider: str, repository: Path, home: Path) -> tuple[SkillSnapshot, ...]:
    """Return the skills a provider has in a project, by name; the first place of a name wins."""
    found: dict[str, SkillSnapshot] = {}
    for parent in _parents(provider, repository, home):
        for folder in _folders(parent):
            if len(found) >= SKILLS_MAX:
                break
            if folder.name not in found and (skill := _skill(folder, provider)) is not None:
                found[folder.name] = skill
    return tuple(found[name] for name in sorted(found))


def fault(skill: SkillSnapshot) -> SkillFault | None:
    """Tell whether a skill is still what the snapshot says; it is looked for nowhere else."""
    folder = Path(skill.source)
    if not (folder / "SKILL.md").is_file():
        return SkillFault("skill_missing", f"the skill {skill.name!r} is no longer in {folder}")
    try:
        now = fingerprint(folder)
    except OSError as error:
        return SkillFault("skill_changed", f"the skill {skill.name!r} cannot be read: {error}")
    if now == skill.fingerprint:
        return None
    return SkillFault(
        "skill_changed",
        f"the skill {skill.name!r} in {folder} has changed since the run was started",
    )


def _parents(provider: str, repository: Path, home: Path) -> Iterator[Path]:
    return (root / place for root in (repository, home) for place in places(provider))


def _folders(parent: Path) -> Iterable[Path]:
    try:
        return sorted(entry for entry in parent.iterdir() if entry.is_dir())
    except OSError:  # there is none, or it cannot be listed: as good as empty
        return ()


def _skill(folder: Path, provider: str) -> SkillSnapshot | None:
    try:
        if not (folder / "SKILL.md").is_file():
            return None
        found = fingerprint(folder)
    except OSError:
        return None
    return SkillSnapshot(name=folder.name, source=str(folder), fingerprint=found, provider=provider)


def fingerprint(folder: Path) -> str:
    """Return ``sha256:`` and the digest over names and contents of all files, in order.

    A symbolic link counts by where it points, without being followed: it might lead anywhere.
    Of more files than ``FILES_MAX`` the number counts, and of a long file its length, beside
    what is read.
    """
    hashed = hashlib.sha256()
    found = _files(folder)
    for path in found[:FILES_MAX]:
        content = os.readlink(path).encode() if path.is_symlink() else _content(path)
        name = path.relative_to(folder).as_posix().encode(errors="surrogateescape")
        for part in (name, content):
            hashed.update(len(part).to_bytes(8, "big") + part)
    if len(found) > FILES_MAX:
        hashed.update(len(found).to_bytes(8, "big"))
    return "sha256:" + hashed.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.is_symlink() or stat.S_ISREG(path.stat().st_mode)
    )


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(FILE_BYTES_MAX)
    size = path.stat().st_size
    return content if size <= FILE_BYTES_MAX else content + size.to_bytes(8, "big")
