"""Goal: a save writes all of the text or nothing, and never over what its author has not seen."""

import fcntl
import os
import resource
import threading
from pathlib import Path

import pytest

from pointsman.storage import workflow_files
from pointsman.storage.workflow_files import (
    NewerEditError,
    WorkflowFileError,
    replace,
    revision_of,
)

NAME = "a.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / ".pointsman" / "workflows"
    found.mkdir(parents=True)
    return found


def test_a_first_save_makes_the_folder_and_the_file(tmp_path: Path) -> None:
    assert replace(tmp_path, NAME, b"one", None)
    assert (tmp_path / ".pointsman" / "workflows" / NAME).read_bytes() == b"one"


def test_a_save_over_the_revision_that_was_read_keeps_every_byte_and_the_mode(
    tmp_path: Path, folder: Path
) -> None:
    (folder / NAME).write_bytes(b"one")
    (folder / NAME).chmod(0o640)
    text = "\ufeff# päper\r\nname:   'x'  # kept\r\n\r\n".encode()
    assert replace(tmp_path, NAME, text, revision_of(b"one"))
    assert (folder / NAME).read_bytes() == text
    assert (folder / NAME).stat().st_mode & 0o777 == 0o640
    assert os.listdir(folder) == [NAME]


@pytest.mark.parametrize("expected", [None, revision_of(b"one"), "nonsense"])
def test_a_newer_edit_is_not_overwritten_and_its_revision_is_told(
    tmp_path: Path, folder: Path, expected: str | None
) -> None:
    (folder / NAME).write_bytes(b"newer")
    with pytest.raises(NewerEditError) as refused:
        replace(tmp_path, NAME, b"mine", expected)
    assert refused.value.found == revision_of(b"newer")
    assert (folder / NAME).read_bytes() == b"newer"
    assert os.listdir(folder) == [NAME]


def test_a_removed_file_is_a_newer_edit_too_and_is_not_made_again(tmp_path: Path) -> None:
    for made in (False, True):
        if made:
            (tmp_path / ".pointsman" / "workflows").mkdir(parents=True)
        with pytest.raises(NewerEditError) as refused:
            replace(tmp_path, NAME, b"mine", revision_of(b"one"))
        assert refused.value.found is None
        assert not list(tmp_path.rglob(NAME))
    assert not (tmp_path / ".pointsman" / "workflows" / NAME).exists()


def test_a_save_whose_answer_was_lost_can_be_repeated(tmp_path: Path, folder: Path) -> None:
    (folder / NAME).write_bytes(b"one")
    assert replace(tmp_path, NAME, b"two", revision_of(b"one"))
    before = (folder / NAME).stat()
    assert not replace(tmp_path, NAME, b"two", revision_of(b"one"))
    assert (folder / NAME).stat() == before, "it is not even written again"


@pytest.mark.parametrize("count", [8])
def test_of_many_savers_who_read_the_same_exactly_one_saves(
    tmp_path: Path, folder: Path, count: int
) -> None:
    (folder / NAME).write_bytes(b"one")
    begin, outcomes = threading.Barrier(count), list[str]()

    def save(number: int) -> None:
        begin.wait()
        try:
            replace(tmp_path, NAME, b"by %d" % number, revision_of(b"one"))
            outcomes.append(f"by {number}")
        except NewerEditError:
            outcomes.append("refused")

    threads = [threading.Thread(target=save, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("refused") == count - 1
    assert (folder / NAME).read_text() in outcomes


def test_a_save_waits_for_another_and_gives_up_after_a_while(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow_files, "_LOCK_PATIENCE_S", 0.05)
    holder = os.open(folder, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(WorkflowFileError, match="another save"):
        replace(tmp_path, NAME, b"one", None)
    os.close(holder)
    assert replace(tmp_path, NAME, b"one", None)


def test_what_a_killed_saver_left_is_cleared_away_and_nothing_else(
    tmp_path: Path, folder: Path
) -> None:
    left = f".{NAME}.0123456789ab.saving"
    for name in (left, ".hidden", "notes.saving"):
        (folder / name).write_text("x")
    replace(tmp_path, NAME, b"one", None)
    assert sorted(os.listdir(folder)) == sorted([NAME, ".hidden", "notes.saving"])


@pytest.mark.parametrize(
    "name", ["../a.yaml", "/a.yaml", "a/b.yaml", ".a.yaml", "a.yml", "a", "", "ä.yaml", "a.yaml\n"]
)
def test_a_name_that_is_no_workflow_files_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkflowFileError, match="no name"):
        replace(tmp_path, name, b"one", None)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_through_a_link_or_into_something_else(
    tmp_path: Path, folder: Path
) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_bytes(b"one")
    (folder / "link.yaml").symlink_to(outside)
    (folder / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    for name in ("link.yaml", "gone.yaml", "folder.yaml", "pipe.yaml"):
        for expected in (None, revision_of(b"one")):
            with pytest.raises(WorkflowFileError):
                replace(tmp_path, name, b"two", expected)
    assert outside.read_bytes() == b"one"
    assert not (tmp_path / "nowhere.yaml").exists()
    assert (folder / "link.yaml").is_symlink()


@pytest.mark.parametrize("part", [".pointsman", ".pointsman/workflows"])
def test_a_folder_that_is_a_link_is_not_written_into(tmp_path: Path, part: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "workflows").mkdir(parents=True)
    project = tmp_path / "project"
    (project / part).parent.mkdir(parents=True)
    (project / part).symlink_to(elsewhere)
    with pytest.raises(WorkflowFileError, match="link"):
        replace(project, NAME, b"one", None)
    assert list(elsewhere.rglob("*.yaml")) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / ".pointsman").write_text("a file")
    with pytest.raises(WorkflowFileError):
        replace(tmp_path, NAME, b"one", None)
    with pytest.raises(WorkflowFileError):
        replace(tmp_path / "nowhere", NAME, b"one", None)


def test_a_disk_that_is_full_in_the_middle_leaves_the_old_text_whole(
    tmp_path: Path, folder: Path
) -> None:
    (folder / NAME).write_bytes(b"one")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, hard))
    try:
        with pytest.raises(WorkflowFileError, match="not written"):
            replace(tmp_path, NAME, b"much longer", revision_of(b"one"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (folder / NAME).read_bytes() == b"one"
    assert os.listdir(folder) == [NAME]
