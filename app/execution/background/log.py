"""Output log of one process: the newest part in memory, the rest in an unnamed file.

The kernel removes the file with its last descriptor, so a killed service leaves nothing behind, and
no other process can open it.
"""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

from app.operations.local.threads import in_thread

log = logging.getLogger(__name__)

IN_MEMORY = 64 << 10


class OutputLog:
    """Append-only bytes. One task appends; any number of readers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._newest = bytearray()
        self._file = -1
        self._in_file = 0
        self._full = False

    @property
    def size(self) -> int:
        return self._in_file + len(self._newest)

    async def append(self, data: bytes) -> None:
        """Append `data`; dropped if the disk is full."""
        if self._full:
            return
        self._newest += data
        if len(self._newest) < IN_MEMORY:
            return
        moved = bytes(self._newest)
        try:
            await in_thread(self._store, moved)
        except OSError as error:
            log.warning("cannot store the output of a process: %s", error.strerror)
            self._full = True
            return
        self._in_file += len(moved)
        del self._newest[: len(moved)]

    async def read(self, offset: int, limit: int) -> bytes:
        """Return the available bytes from `offset` to `offset + limit`."""
        end = min(offset + limit, self.size)
        stored = b""
        if offset < self._in_file:
            # Duplicate the descriptor: the log may be closed while a thread reads.
            stored = await in_thread(
                _read, os.dup(self._file), offset, min(end, self._in_file) - offset
            )
        start = self._in_file
        # Bytes that were in memory before the read may have moved to the file: read them there.
        if offset + len(stored) < min(end, start):
            return stored + await self.read(offset + len(stored), limit - len(stored))
        return stored + bytes(self._newest[max(0, offset - start) : max(0, end - start)])

    def close(self) -> None:
        """Release all resources; may be called repeatedly."""
        self._full = True
        self._newest.clear()
        self._in_file = 0
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _store(self, data: bytes) -> None:
        if self._file < 0:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as made:
                self._file = os.dup(made.fileno())
        left, offset = memoryview(data), self._in_file
        while left:
            count = os.pwrite(self._file, left, offset)
            left, offset = left[count:], offset + count


def _read(descriptor: int, offset: int, count: int) -> bytes:
    try:
        return os.pread(descriptor, count, offset)
    finally:
        os.close(descriptor)
