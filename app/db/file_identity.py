"""Detection of database files that were replaced, removed or overwritten while open.

SQLite opens files, not names: if one is removed or replaced, commits go to a file that is never
opened again, and no call fails. If another database is written over it in place, pages of both are
mixed.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from shutil import disk_usage
from typing import NoReturn

_BESIDE = ("-wal", "-shm")
# The header of the file, and its checked parts: sqlite.org/fileformat2.html
_HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"
_PAGE_BYTES = slice(16, 18)
_CHANGES = slice(24, 28)
_PAGES = slice(28, 32)
_USER_VERSION = slice(60, 64)
# Another process may write the header during a checkpoint while it is read here.
_SETTLED_S = 0.02
_SPARE_BYTES = 64 << 20


class DatabaseLost(sqlite3.OperationalError):
    """A file of the database is not the opened one, or has other content."""


class DatabaseFiles:
    """Files of one database, as opened by its writer. All methods block.

    Args:
        path: database file; its journal is next to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[int, int]] = {}
        self._size = 0
        self._descriptor: int | None = None
        self._header = b""
        self._marks: frozenset[bytes] = frozenset()
        self._mark = b""
        self._spoilt: str | None = None
        self.rescued: Path | None = None
        self._has_tried = False

    def opened(self) -> None:
        """Record the files after opening."""
        self._known.clear()
        self._size, self._has_tried = 0, False
        self._header, self._marks, self._mark, self._spoilt = b"", frozenset(), b"", None
        # Closing it would drop SQLite's locks on the file, so it stays open as long as they exist.
        self._descriptor = os.open(self._path, os.O_RDONLY)
        self.check()

    def closed(self) -> None:
        """Release the files after SQLite has closed them."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def mark(self, former: int, mark: int) -> None:
        """Record that the file's `user_version` changes from `former` to `mark` with the next
        checkpoint.
        """
        self._mark = mark.to_bytes(4)
        self._marks = frozenset((self._header[_USER_VERSION], former.to_bytes(4), self._mark))

    @property
    def awaits_mark(self) -> bool:
        """Return whether a checkpoint must still write the mark to the file."""
        return self._header[_USER_VERSION] != self._mark != b""

    def check(self) -> None:
        """Compare the files with the opened ones.

        Raises:
            DatabaseLost: one was removed, replaced, overwritten or truncated.
        """
        if self._spoilt is not None:
            raise DatabaseLost(self._spoilt)
        name = self._path.name
        found = self._status("")
        if found is None or self._known.setdefault("", _identity(found)) != _identity(found):
            raise DatabaseLost(f"{name} was {'removed' if found is None else 'replaced'}")
        if found.st_size < self._size and not self._holds_all_pages():
            self._spoil(f"{name} was truncated")
        self._size = found.st_size
        if not self._is_header_ours():
            time.sleep(_SETTLED_S)
            if not self._is_header_ours():
                self._spoil(f"{name} was overwritten")
        for suffix in _BESIDE:
            status = self._status(suffix)
            known = self._known.get(suffix)
            if known is None:
                if status is not None:
                    self._known[suffix] = _identity(status)
            elif status is None or _identity(status) != known:
                what = "removed" if status is None else "replaced"
                raise DatabaseLost(f"{name}{suffix} was {what}")
        # A later loss needs another copy.
        self._has_tried, self.rescued = False, None

    def _holds_all_pages(self) -> bool:
        """Return whether the file is as long as its header says; `VACUUM` also shortens it."""
        assert self._descriptor is not None
        header = os.pread(self._descriptor, _HEADER_BYTES, 0)
        page_bytes = int.from_bytes(header[_PAGE_BYTES])
        # The two bytes cannot represent the largest size.
        page_bytes = 1 << 16 if page_bytes == 1 else page_bytes
        pages = int.from_bytes(header[_PAGES])
        return 0 < pages * page_bytes <= os.fstat(self._descriptor).st_size

    def _spoil(self, what: str) -> NoReturn:
        """Mark SQLite's state as unusable, whatever the file contains later."""
        self._spoilt = what
        raise DatabaseLost(what)

    def _is_header_ours(self) -> bool:
        """Return whether the header belongs to this database: unchanged, or a later one."""
        assert self._descriptor is not None
        header = os.pread(self._descriptor, _HEADER_BYTES, 0)
        if header == self._header:
            return True
        former, mark = self._header, header[_USER_VERSION]
        if former and (
            not header.startswith(_MAGIC)
            or header[_CHANGES] < former[_CHANGES]
            or (self._marks and mark not in self._marks)
        ):
            return False
        if mark == self._mark:
            self._marks = frozenset((mark,))
        self._header = header
        return True

    def rescue(self, connection: sqlite3.Connection) -> Path | None:
        """Copy the committed data to a new file next to the lost one, once per loss; return its
        path.

        None if it fails: there is no space, the folder is gone too, or the connection reads other
        data than was committed.
        """
        if self._has_tried or self._spoilt is not None:
            return self.rescued
        self._has_tried = True
        target = self._path.with_name(f"{self._path.stem}.rescued-{time.time_ns() // 1000}.db")
        try:
            pages, size = (
                connection.execute(f"PRAGMA {what}").fetchone()[0]
                for what in ("page_count", "page_size")
            )
            if disk_usage(target.parent).free < pages * size + _SPARE_BYTES:
                return None
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(target)) as copy:
                connection.backup(copy)
        except (sqlite3.Error, OSError):
            target.unlink(missing_ok=True)
            return None
        self.rescued = target
        return target

    def _status(self, suffix: str) -> os.stat_result | None:
        try:
            return os.stat(f"{self._path}{suffix}")  # noqa: PTH116 - before and after each commit
        except OSError:
            return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
