"""Whether the database's files are still those that were opened.

SQLite holds files, not names: where one is removed or replaced, commits go into a file that
nobody will ever open again, and no call fails.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from shutil import disk_usage

_BESIDE = ("-wal", "-shm")
_SPARE_BYTES = 64 << 20


class DatabaseLost(sqlite3.OperationalError):
    """A file of the database is not the one that was opened."""


class DatabaseFiles:
    """The files of one database, as its writer has opened them. All blocking.

    Args:
        path: the database; its journal lies beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[int, int]] = {}
        self._size = 0
        self.rescued: Path | None = None
        self._has_tried = False

    def opened(self) -> None:
        """Take note of the files as they are."""
        self._known.clear()
        self._size, self._has_tried = 0, False
        self.check()

    def check(self) -> None:
        """Compare the files with those that were opened.

        Raises:
            DatabaseLost: one was removed, replaced or cut short.
        """
        name = self._path.name
        found = self._status("")
        if found is None or self._known.setdefault("", _identity(found)) != _identity(found):
            raise DatabaseLost(f"{name} was {'removed' if found is None else 'replaced'}")
        if found.st_size < self._size:
            raise DatabaseLost(f"{name} was cut short")
        self._size = found.st_size
        for suffix in _BESIDE:
            status = self._status(suffix)
            known = self._known.get(suffix)
            if known is None:
                if status is not None:
                    self._known[suffix] = _identity(status)
            elif status is None or _identity(status) != known:
                what = "removed" if status is None else "replaced"
                raise DatabaseLost(f"{name}{suffix} was {what}")

    def rescue(self, connection: sqlite3.Connection) -> Path | None:
        """Copy what is committed to a new file beside the lost one, once; its path.

        None where that cannot be done: there is no room for it, or the folder has gone too.
        """
        if self._has_tried:
            return self.rescued
        self._has_tried = True
        target = self._path.with_name(f"{self._path.stem}.rescued-{int(time.time())}.db")
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
