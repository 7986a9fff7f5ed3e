"""Goal: the skill that is found first is the one that is used, and any change of it shows."""

from pathlib import Path

import pytest

from pointsman.runtime.skills import discover, fault, find_skill, fingerprint


def make(root: Path, place: str, name: str = "careful", text: str = "Be careful.") -> Path:
    folder = root / place / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return tmp_path / "repository"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_the_repositorys_skill_comes_before_the_homes(repository: Path, home: Path) -> None:
    make(home, ".agents/skills")
    own = make(repository, ".pointsman/skills")
    found = find_skill("careful", "scripted", repository, home)
    assert found is not None
    assert found.source == str(own)


def test_a_folder_without_its_file_is_no_skill(repository: Path, home: Path) -> None:
    (repository / ".agents" / "skills" / "careful").mkdir(parents=True)
    elsewhere = make(home, ".claude/skills")
    found = find_skill("careful", "scripted", repository, home)
    assert found is not None
    assert found.source == str(elsewhere)


@pytest.mark.parametrize("name", ["..", ".", "", "../careful", "a/b", "careful\0"])
def test_a_name_that_leads_elsewhere_is_no_skill(repository: Path, home: Path, name: str) -> None:
    make(repository, ".agents/skills")
    assert find_skill(name, "scripted", repository, home) is None


def test_any_change_below_the_folder_changes_the_fingerprint(repository: Path) -> None:
    folder = make(repository, ".agents/skills")
    seen = {fingerprint(folder)}
    (folder / "more").mkdir()
    (folder / "more" / "notes.md").write_text("a")
    seen.add(fingerprint(folder))
    (folder / "more" / "notes.md").write_text("b")
    seen.add(fingerprint(folder))
    (folder / "more" / "notes.md").rename(folder / "more" / "other.md")
    seen.add(fingerprint(folder))
    (folder / "link").symlink_to("/nowhere")
    seen.add(fingerprint(folder))
    assert len(seen) == 5


def test_the_same_content_elsewhere_has_the_same_fingerprint(repository: Path, home: Path) -> None:
    one = make(repository, ".agents/skills")
    other = make(home, ".claude/skills")
    assert fingerprint(one) == fingerprint(other)


def test_contents_cannot_be_shifted_between_names(repository: Path) -> None:
    one, other = make(repository, "a"), make(repository, "b")
    (one / "ab").write_text("c")
    (other / "a").write_text("bc")
    assert fingerprint(one) != fingerprint(other)


def test_each_provider_has_its_own_place_first(repository: Path, home: Path) -> None:
    shared, own = make(repository, ".agents/skills"), make(repository, ".claude/skills")
    found = {
        provider: find_skill("careful", provider, repository, home)
        for provider in ("claude", "codex", "opencode", "scripted")
    }
    sources = {name: skill.source for name, skill in found.items() if skill is not None}
    assert sources == {
        "claude": str(own),
        "codex": str(shared),
        "opencode": str(own),
        "scripted": str(shared),
    }
    assert {name: skill.provider for name, skill in found.items() if skill} == {
        name: name for name in found
    }


def test_a_projects_skills_are_discovered_by_name_with_source_and_fingerprint(
    repository: Path, home: Path
) -> None:
    own = make(repository, ".agents/skills")
    make(home, ".agents/skills", text="Another of that name.")
    other = make(home, ".claude/skills", "brave")
    (home / ".claude" / "skills" / "empty").mkdir()
    found = discover("codex", repository, home)
    assert [(skill.name, skill.source, skill.fingerprint) for skill in found] == [
        ("brave", str(other), fingerprint(other)),
        ("careful", str(own), fingerprint(own)),
    ]
    assert discover("codex", repository / "nowhere", home / "nowhere") == ()


def test_a_skill_is_without_fault_until_it_changes_or_goes(repository: Path, home: Path) -> None:
    folder = make(repository, ".agents/skills")
    skill = find_skill("careful", "scripted", repository, home)
    assert skill is not None
    assert fault(skill) is None
    (folder / "more.md").write_text("And more.")
    changed = fault(skill)
    assert changed is not None
    assert changed.code == "skill_changed"
    (folder / "more.md").unlink()
    assert fault(skill) is None, "what was put back is what it was"
    (folder / "SKILL.md").unlink()
    make(home, ".agents/skills")
    gone = fault(skill)
    assert gone is not None
    assert gone.code == "skill_missing", "another of its name is no substitute"
