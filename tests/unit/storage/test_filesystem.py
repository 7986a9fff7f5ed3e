"""Which file system a folder lies on, and the room kept ahead of a file's end."""

from pathlib import Path

import pytest

from pointsman.storage.filesystem import (
    Room,
    file_system_type,
    is_local,
    make_allocated,
    refuse_network,
)

MOUNTS = r"""23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
24 23 0:50 / /home rw shared:2 master:1 - nfs4 server:/home rw,hard
25 24 8:17 / /home/local rw - xfs /dev/sdb1 rw
26 23 0:51 / /mnt/with\040space rw - cifs //box/share rw
27 23 0:52 / /over rw propagate_from:2 unbindable - tmpfs tmpfs rw
28 27 0:53 / /over rw - fuse.sshfs box: rw
29 23 0:54 /docker/volumes/a-b /volume rw - btrfs /dev/sdc rw
broken
30 23 0:55 / /data/cut-short rw -
"""


@pytest.mark.parametrize(
    "folder, kind",
    [
        ("/data", "ext4"),
        ("/home", "nfs4"),
        ("/home/ann/data", "nfs4"),
        ("/home/local/data", "xfs"),
        ("/homely", "ext4"),
        ("/mnt/with space/data", "cifs"),
        ("/over/data", "fuse.sshfs"),
        ("/volume/data", "btrfs"),
        ("/data/cut-short", "ext4"),
    ],
)
def test_the_mount_that_holds_a_folder_is_the_longest_and_the_last(folder: str, kind: str) -> None:
    assert file_system_type(MOUNTS, Path(folder)) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "bcachefs"])
def test_the_kernels_own_file_systems_are_local(kind: str) -> None:
    assert is_local(kind)


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse", "fuseblk", "fuse.sshfs"]
)
def test_what_other_machines_or_programs_serve_is_not_local(kind: str) -> None:
    assert not is_local(kind)


def test_the_folder_of_this_test_is_local(tmp_path: Path) -> None:
    refuse_network(tmp_path)


def test_the_file_grows_in_steps_and_only_when_it_is_nearly_used_up(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"x" * 100)
    room = Room(path, step_bytes=8_192)
    lengths = []
    for used in (100, 4_000, 12_000, 12_289, 20_000, 100_000):
        assert room.ensure(used)
        lengths.append(path.stat().st_size)
        assert lengths[-1] >= used + 4_096
    room.close()
    assert lengths == [16_384, 16_384, 16_384, 24_576, 24_576, 114_688]
    assert path.read_bytes().rstrip(b"\0") == b"x" * 100


def test_a_file_is_made_with_all_its_blocks_and_an_earlier_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    make_allocated(path, 70_000)
    assert path.read_bytes() == b"\0" * 70_000
    assert path.stat().st_blocks * 512 >= 70_000
    path.write_bytes(b"in use")
    make_allocated(path, 70_000)
    assert path.read_bytes() == b"in use"
    assert [each.name for each in tmp_path.iterdir()] == ["lock"]
