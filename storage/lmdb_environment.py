"""The LMDB environment of one data directory: tables, transactions, growth, errors.

The only importer of lmdb; what the rows mean is ``lmdb_journal``'s. Durability is LMDB's default
(data and meta page are synced in every commit) and is never traded away: no ``sync=False``, no
``metasync=False``, no ``writemap``.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Final, Self, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import lmdb

from pointsman.storage import codec, keys
from pointsman.storage.filesystem import (
    Room,
    Size,
    free_bytes,
    is_no_room,
    make_allocated,
    refuse_network,
    sync_file,
    sync_folder,
)
from pointsman.storage.journal_errors import (
    JournalCorruptError,
    JournalError,
    JournalFormatError,
    JournalFullError,
    JournalOutdatedError,
)
from pointsman.storage.keys import Table

T = TypeVar("T")
Tables: TypeAlias = dict[Table, lmdb._Database]  # noqa: SLF001  the stubs' name for a handle

# Address space, not disk: large enough that growing is rare, small enough for a 32 GB limit.
MAP_SIZE_BYTES: Final = 1 << 30
_MAP_SIZE_BYTES_MIN: Final = 1 << 16
MAP_SIZE_BYTES_MAX: Final = 1 << 44
ROOM_STEP_BYTES: Final = 4 << 20
# A reader slot a process and read in flight; slots of killed processes are freed at every open.
_READERS_MAX: Final = 1024
# How often one transaction may meet a map that another process has just grown.
_RESIZES_MAX: Final = 64
DATA_FILE: Final = "data.mdb"
LOCK_FILE: Final = "lock.mdb"
_MAKING_PREFIX: Final = ".making-"
_LOCK_BYTES: Final = 64 * _READERS_MAX + 4096  # LMDB's slots of 64 bytes, and its head
# Said outright: an environment variable of py-lmdb could choose another engine, with locks of its
# own, for one of two processes that share a folder.
_LMDB_MAJOR: Final = 0


class Txn:
    """One LMDB transaction; valid only within the call it was handed to."""

    def __init__(self, txn: "lmdb.Transaction[bytes]", tables: Tables) -> None:
        self._txn = txn
        self._tables = tables

    def get(self, table: Table, key: bytes) -> bytes | None:
        if table not in self._tables:
            return None  # of a journal that is older than the table, opened for reading
        return self._txn.get(key, db=self._tables[table])

    def put(self, table: Table, key: bytes, row: bytes) -> None:
        self._txn.put(key, row, db=self._tables[table])

    def add(self, table: Table, key: bytes, row: bytes) -> bool:
        """Put a row unless its key is taken; ``False`` when it is."""
        return self._txn.put(key, row, overwrite=False, db=self._tables[table])

    def delete(self, table: Table, key: bytes) -> None:
        self._txn.delete(key, db=self._tables[table])

    def clear(self, table: Table) -> None:
        """Delete every row of a table."""
        self._txn.drop(self._tables[table], delete=False)

    def count(self, table: Table) -> int:
        """Count a table's rows without reading them."""
        return self._txn.stat(self._tables[table])["entries"] if table in self._tables else 0

    def forward(self, table: Table, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield rows in order from the first key at or after ``start``."""
        if table not in self._tables:
            return
        with self._txn.cursor(db=self._tables[table]) as cursor:
            if cursor.set_range(start) if start else cursor.first():
                yield from cursor.iternext()

    def backward(self, table: Table, before: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield rows in reverse from the last key before ``before`` (empty: from the end)."""
        if table not in self._tables:
            return
        with self._txn.cursor(db=self._tables[table]) as cursor:
            if cursor.prev() if before and cursor.set_range(before) else cursor.last():
                yield from cursor.iterprev()


def _format_in(txn: Txn) -> int:
    row = txn.get(Table.META, keys.FORMAT_KEY)
    assert row is not None, "an environment without a format is not opened"
    return codec.decode(codec.FORMAT, keys.FORMAT_KEY, row).format


_open_here: WeakValueDictionary[tuple[int, int], "Environment"] = WeakValueDictionary()
_open_here_lock: Final = Lock()


class Environment:
    """An open environment. Safe to share among threads; transactions take turns.

    The turns are needed because the map may only be changed while this process has no
    transaction; LMDB does not check it.
    """

    def __init__(
        self, folder: Path, env: lmdb.Environment, read_only: bool, any_format: bool
    ) -> None:
        self._folder = folder
        self._env = env
        self._lock = RLock()
        self._closed = False
        flags = env.flags()
        assert flags["sync"], flags
        assert flags["metasync"], flags
        assert not flags["writemap"], flags
        self._page_bytes = env.stat()["psize"]
        self._tables = _open_tables(folder, env, read_only, any_format)
        self._room = None if read_only else Room(folder / DATA_FILE, ROOM_STEP_BYTES)
        if not read_only:
            sync_folder(folder)
            sync_folder(folder.parent)

    @classmethod
    def open(
        cls, folder: Path, map_size: int, read_only: bool, *, any_format: bool = False
    ) -> Self:
        """Open or create the environment in a folder, once in this process.

        ``any_format`` also opens one of an older format, for those who do not decode its rows.
        """
        if read_only and not (folder / DATA_FILE).is_file():
            raise JournalError(f"there is no journal in {folder}")
        if not read_only:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_network(folder)
        if not read_only:
            _make_whole(folder, map_size)
        found = folder.stat()
        with _open_here_lock:
            # A second environment on the same file would drop the first one's file locks.
            if (found.st_dev, found.st_ino) in _open_here:
                raise JournalError(f"{folder} is already open in this process: share its journal")
            env = _lmdb_env(folder, map_size, read_only)
            opened = cls(folder, env, read_only, any_format)
            _open_here[found.st_dev, found.st_ino] = opened
            return opened

    def read(self, work: Callable[[Txn], T]) -> T:
        """Call ``work`` in a read transaction: it sees whole commits only."""

        def reading() -> T:
            with self._env.begin() as txn:
                return work(Txn(txn, self._tables))

        with self._turn(), _reported(self._folder):
            return _with_a_map_that_fits(self._env, reading)

    def write(self, work: Callable[[Txn], T]) -> T:
        """Call ``work`` in a write transaction; when this returns, all it wrote is on disk.

        ``work`` is called again when the map had to grow; nothing of the first call remains.
        """
        with self._turn(), _reported(self._folder):
            room = self._room
            if room is None:
                raise JournalError(f"{self._folder} was opened for reading only")
            return _with_a_map_that_fits(self._env, lambda: self._written(work, room))

    @property
    def format(self) -> int:
        """The version of the layout that the journal has now."""
        return self.read(_format_in)

    def copy(self, target: Path) -> None:
        """Write a compact, consistent and durable copy of the data file to a new path.

        LMDB copies what one read transaction sees, whatever is committed meanwhile; only that
        old pages are not reused by writers for as long.
        """
        with self._turn(), _reported(target.parent):
            descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                _with_a_map_that_fits(self._env, lambda: self._copied(descriptor))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def size(self) -> Size:
        """Tell how much of the file is used, and how large its map is now."""
        with self._turn(), _reported(self._folder):
            return Size(used_bytes=self._used_bytes(), map_bytes=self._env.info()["map_size"])

    def _copied(self, descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        self._env.copyfd(descriptor, compact=True)

    def close(self) -> None:
        """Close the environment; closing again is harmless."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._room is not None:
                self._room.close()
            self._env.close()
            with _open_here_lock:
                for identity in [key for key, env in _open_here.items() if env is self]:
                    del _open_here[identity]

    def _written(self, work: Callable[[Txn], T], room: Room) -> T:
        has_room = True
        try:
            with self._env.begin(write=True) as txn:
                result = work(Txn(txn, self._tables))
                has_room = room.ensure(self._used_bytes())
        except lmdb.Error as error:
            # On a full disk LMDB may meet a short write first, which it reports as EIO.
            full = not has_room or free_bytes(self._folder) < ROOM_STEP_BYTES
            if full and error.code == errno.EIO:
                raise JournalFullError(_full(self._folder)) from error
            raise
        return result

    def _used_bytes(self) -> int:
        return (self._env.info()["last_pgno"] + 1) * self._page_bytes

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise JournalError(f"the journal in {self._folder} is closed")
            yield


def _lmdb_env(folder: Path, map_size: int, read_only: bool) -> lmdb.Environment:
    with _reported(folder):
        # LMDB would leave holes in this file, which it writes to through memory: with the disk
        # full, taking a reader's slot there killed the process (SIGBUS, seen).
        make_allocated(folder / LOCK_FILE, _LOCK_BYTES)
        try:
            env = lmdb.open(
                str(folder),
                map_size=max(map_size, _MAP_SIZE_BYTES_MIN),
                max_dbs=len(Table),
                max_readers=_READERS_MAX,
                readonly=read_only,
                create=not read_only,
                mode=0o600,
                lib_version=_LMDB_MAJOR,
            )
        except (lmdb.InvalidError, lmdb.VersionMismatchError) as error:
            raise JournalFormatError(f"{folder / DATA_FILE} is no journal: {error}") from error
        env.reader_check()
        return env


def _make_whole(folder: Path, map_size: int) -> None:
    """Give the data file its name only once it is a durable journal, if there is none yet.

    LMDB writes a new file's first pages unsynced: after a power cut amid that it would be taken
    for a file of others, for good.
    """
    if (folder / DATA_FILE).exists():
        return
    making = Path(tempfile.mkdtemp(prefix=_MAKING_PREFIX, dir=folder))
    try:
        env = _lmdb_env(making, map_size, read_only=False)
        with _reported(folder):
            _with_a_map_that_fits(env, lambda: _create_tables(env))
            env.close()
            # The last page was written, not synced with what the file's length says of it.
            sync_file(making / DATA_FILE)
            with suppress(FileExistsError):  # if another process was faster, its file stays
                os.link(making / DATA_FILE, folder / DATA_FILE)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _with_a_map_that_fits(env: lmdb.Environment, call: Callable[[], T]) -> T:
    """Call again after the map has grown; the call's transaction has ended whenever it raises."""
    for _ in range(_RESIZES_MAX):
        try:
            return call()
        except lmdb.MapResizedError:
            env.set_mapsize(0)  # another process has made it larger: take its size over
        except lmdb.MapFullError:
            # A reader that died without leaving may be what keeps old pages from being reused.
            env.reader_check()
            size = env.info()["map_size"]
            if size >= MAP_SIZE_BYTES_MAX:
                raise
            env.set_mapsize(min(2 * size, MAP_SIZE_BYTES_MAX))
    raise JournalError(f"{env.path()}: the map is resized all the time")


def _open_tables(folder: Path, env: lmdb.Environment, read_only: bool, any_format: bool) -> Tables:
    """Open the tables of an environment of ours, or make them in an empty one."""
    with _reported(folder):
        try:
            if not read_only:
                _with_a_map_that_fits(env, lambda: _create_tables(env))
            tables = _with_a_map_that_fits(env, lambda: _existing_tables(folder, env, any_format))
            if read_only or len(tables) == len(Table):
                return tables
            return _with_a_map_that_fits(env, lambda: _completed(env, tables))
        except BaseException:
            env.close()
            raise


def _create_tables(env: lmdb.Environment) -> None:
    with env.begin() as txn:
        if txn.stat()["entries"]:
            return
    with env.begin(write=True) as txn:
        if txn.stat()["entries"]:
            return  # another process has just made them
        tables = {table: env.open_db(table.encode(), txn=txn) for table in Table}
        row = codec.encode(
            codec.FORMAT, keys.FORMAT_KEY, codec.FormatRow(format=codec.LAYOUT_VERSION)
        )
        txn.put(keys.FORMAT_KEY, row, db=tables[Table.META])


def _existing_tables(folder: Path, env: lmdb.Environment, any_format: bool) -> Tables:
    """Check the format before anything else is opened; nothing is written here."""
    try:
        with env.begin() as txn:
            meta = env.open_db(Table.META.encode(), txn=txn, create=False)
            row = txn.get(keys.FORMAT_KEY, db=meta)
    except (lmdb.NotFoundError, lmdb.ReadonlyError, lmdb.IncompatibleError) as error:
        raise JournalFormatError(f"{folder} holds an LMDB environment of others") from error
    if row is None:
        raise JournalFormatError(f"{folder} holds an LMDB environment of others")
    found = codec.decode(codec.FORMAT, keys.FORMAT_KEY, row).format
    text = f"the journal in {folder} has format {found}; this Pointsman reads and writes"
    if found > codec.LAYOUT_VERSION:
        raise JournalFormatError(f"{text} {codec.LAYOUT_VERSION}: use the version that wrote it")
    if found < codec.LAYOUT_VERSION and not any_format:
        raise JournalOutdatedError(f"{text} {codec.LAYOUT_VERSION}")
    # Without a transaction of ours: handles opened in a reader would end with it.
    with env.begin() as txn:
        present = [table for table in Table if txn.get(table.encode()) is not None]
    return {table: env.open_db(table.encode(), create=False) for table in present}


def _completed(env: lmdb.Environment, tables: Tables) -> Tables:
    """Make the tables that a journal of an earlier version lacks."""
    with env.begin(write=True) as txn:
        made = {
            table: env.open_db(table.encode(), txn=txn) for table in Table if table not in tables
        }
    return tables | made


@contextmanager
def _reported(folder: Path) -> Iterator[None]:
    """Turn LMDB's errors into the journal's; whatever was being written is gone by then."""
    try:
        yield
    except (lmdb.MapFullError, lmdb.DiskError) as error:
        raise JournalFullError(_full(folder)) from error
    except (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.NotFoundError) as error:
        raise JournalCorruptError(f"the journal in {folder} is damaged: {error}") from error
    except lmdb.Error as error:
        if is_no_room(error.code):
            raise JournalFullError(_full(folder)) from error
        raise JournalError(f"the journal in {folder}: {error}") from error
    except OSError as error:
        if is_no_room(error.errno):
            raise JournalFullError(_full(folder)) from error
        raise JournalError(f"the journal in {folder}: {error}") from error


def _full(folder: Path) -> str:
    return f"the disk with {folder} is full: nothing was written; free space and try again"
