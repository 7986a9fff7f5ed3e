"""What the journal asks of the file system: local, with room ahead of the file's end.

LMDB maps its file and locks through shared memory; over a network neither is coherent.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from pointsman.storage.journal_errors import JournalPlaceError

# fmt: off
_NETWORK_TYPES: Final = frozenset({
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre",
    "gfs", "gfs2", "glusterfs", "gpfs", "beegfs", "9p", "davfs", "ocfs2", "orangefs",
    # Folders of another machine, or of the machine around this one.
    "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "drvfs",
})
# fmt: on
# A program plays the file system, and nobody knows how well: sshfs, rclone, s3fs, an NTFS driver.
_FUSE: Final = ("fuse", "fuseblk")
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_MOUNTS: Final = Path("/proc/self/mountinfo")


def refuse_network(folder: Path) -> None:
    """Raise ``JournalPlaceError`` when the folder is, or would be, on no local file system."""
    kind = type_of(folder)
    if kind is not None and not is_local(kind):
        raise JournalPlaceError(
            f"{folder} is on no local file system ({kind}), where a journal would be damaged;"
            " choose a data directory on a local disk"
        )


def type_of(folder: Path) -> str | None:
    """Return the type of the file system that a folder is, or would be, on; ``None`` if unknown."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:  # no Linux: nothing to be learned here
        return None
    return file_system_type(mounts, folder.resolve())


def is_local(kind: str) -> bool:
    """Whether memory maps and locks of a file system are the kernel's of this machine alone."""
    return kind not in _NETWORK_TYPES and kind.partition(".")[0] not in _FUSE


def file_system_type(mounts: str, folder: Path) -> str | None:
    """Return the type of the mount that holds a resolved folder; the last mount on top wins.

    ``mounts`` is the text of ``/proc/self/mountinfo``: the mount point is the fifth field, and
    the type follows a lone dash, before which stand any number of optional fields.
    """
    best, kind = -1, None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 5 or "-" not in fields[5:]:
            continue
        after = fields[fields.index("-", 5) + 1 :]
        point = Path(_unescaped(fields[4]))
        if after and folder.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after[0]
    return kind


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def is_no_room(code: int | None) -> bool:
    """Whether an error number says that a file cannot grow any more."""
    return code in _NO_ROOM


def make_allocated(path: Path, size_bytes: int) -> None:
    """Make a file of zeros that has all its blocks, unless there is one under this name."""
    if path.exists():
        return
    made = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(made, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size_bytes)
        # Under its name only when it is whole; if another process was faster, its file stays.
        with suppress(FileExistsError):
            os.link(made, path)
    finally:
        os.close(descriptor)
        made.unlink()


def free_bytes(folder: Path) -> int:
    """Return what this process may still write on the folder's file system."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


class Size(NamedTuple):
    """How much of a journal's file is used, and the size of its map; both grow."""

    used_bytes: int
    map_bytes: int


class Room:
    """Keeps a file longer than what is used of it, growing it in steps.

    A commit then seldom changes the file's length, and a disk that is full is noticed by an
    allocation that harms nothing. Call it only while writers are locked out: where the file
    system cannot allocate, the C library writes into the new part byte by byte.
    """

    def __init__(self, path: Path, step_bytes: int) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._step_bytes = step_bytes

    def ensure(self, used_bytes: int) -> bool:
        """Keep half a step free beyond what is used; ``False`` when there is no room for it."""
        length = os.fstat(self._descriptor).st_size
        if length >= used_bytes + self._step_bytes // 2:
            return True
        wanted = (used_bytes // self._step_bytes + 2) * self._step_bytes
        try:
            os.posix_fallocate(self._descriptor, length, wanted - length)
        except OSError as error:
            # Less room than a step may still be enough for the commit: LMDB decides.
            if is_no_room(error.errno):
                return False
            raise
        return True

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)


def sync_file(path: Path) -> None:
    """Make a file's content and length durable, whoever has written them."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable; LMDB syncs its files only."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
