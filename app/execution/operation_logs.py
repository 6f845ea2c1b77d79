"""Complete progress reports of running tools: one bounded JSON Lines file per call."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path

from app.config.sections import ProgressSettings
from app.config.settings import Settings
from app.core.errors import NotFound

log = logging.getLogger(__name__)

_SUFFIX = ".jsonl"
_PRUNE_EVERY = 50


def operation_logs_of(settings: Settings) -> OperationLogs:
    """Return the logs of an installation."""
    return OperationLogs(settings.data_dir / "operations", settings.progress)


class OperationLogs:
    """JSON Lines files by operation ID. New files displace old ones.

    Args:
        folder: created with the first file.
    """

    def __init__(self, folder: Path, settings: ProgressSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._lock = threading.Lock()
        self._begun = 0

    @property
    def max_bytes(self) -> int:
        """Return the maximum size of a call's log in bytes."""
        return self._settings.log_mb << 20

    def name(self, operation_id: str) -> str:
        """Return the file's name, as in events."""
        return f"{operation_id}{_SUFFIX}"

    async def append(self, operation_id: str, line: bytes, *, begins: bool) -> bool:
        """Add a line; return False if it cannot be stored, which never fails a call.

        Args:
            begins: it is the first line of its call.
        """
        return await asyncio.to_thread(self._append, operation_id, line, begins)

    def _append(self, operation_id: str, line: bytes, begins: bool) -> bool:  # noqa: FBT001 - private
        try:
            if begins:
                self._make_room()
            with (self._folder / self.name(operation_id)).open("ab") as file:
                file.write(line)
        except OSError as error:
            log.warning("cannot store the progress of %s: %s", operation_id, error.strerror)
            return False
        return True

    def _make_room(self) -> None:
        # Reports are for the operator and the session's clients, no other user.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock:
            due = self._begun % _PRUNE_EVERY == 0
            self._begun += 1
            if due:
                self.prune()

    def prune(self) -> int:
        """Remove files above the limits of age, count and total size; return how many.

        Blocks. The oldest are removed first, by the time of their last line.
        """
        settings = self._settings
        found = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            try:
                status = path.lstat()
            except OSError:
                continue
            found.append((status.st_mtime, path, status.st_size))
        found.sort(reverse=True)
        oldest = time.time() - settings.log_days * 86_400 if settings.log_days else 0.0
        room, gone = settings.total_mb << 20, 0
        for number, (moment, path, size) in enumerate(found):
            room -= size
            if number >= settings.log_files or moment < oldest or room < 0:
                path.unlink(missing_ok=True)
                gone += 1
        return gone

    async def size(self, operation_id: str) -> int | None:
        """Return the size of a call's log in bytes; None if there is none."""
        return await asyncio.to_thread(self._size, operation_id)

    def _size(self, operation_id: str) -> int | None:
        try:
            return (self._folder / self.name(operation_id)).stat().st_size
        except OSError:
            return None

    async def read(self, operation_id: str, *, offset: int = 0, limit: int = -1) -> bytes:
        """Return bytes of a call's log.

        Raises:
            NotFound: the log does not exist or was removed.
        """
        return await asyncio.to_thread(self._read, operation_id, offset, limit)

    def _read(self, operation_id: str, offset: int, limit: int) -> bytes:
        try:
            with (self._folder / self.name(operation_id)).open("rb") as file:
                file.seek(offset)
                return file.read(limit)
        except OSError:
            raise NotFound(
                f"No progress reports of {operation_id!r}: it made none, or they were deleted",
                operation_id=operation_id,
            ) from None
