"""Feeding files of a walk to a `GrepPage`, through reused buffers.

Small files are read consecutively into one buffer and searched together. On 18,000 files of 260 MB
that took 165 ms of CPU time, compared with 205 for a search per file, and 180 for ripgrep.
Concurrent threads that read or match made it slower by a tenth to a half: each of the short system
calls releases the interpreter lock and waits to get it back.
"""

from __future__ import annotations

import os
import stat
import threading

from app.operations.content_detection import as_utf8, has_mark, with_plain_breaks
from app.operations.grep_page import GrepPage, Joined
from app.operations.local.walk import OPEN_FILE, Entry, identity

_JOINED_BYTES = 512 << 10
_LEAST_ROOM = 128 << 10
_CHUNK = 1 << 20
_NEWLINE = ord("\n")


class Stopped(Exception):
    """The awaiting task was cancelled; raised only inside the thread of a search."""


class FileFeed:
    """Reads files and passes them to `page` in order; finish with `flush`.

    Args:
        closed: device and inode of skipped files.
    """

    def __init__(
        self,
        page: GrepPage,
        max_bytes: int,
        stop: threading.Event,
        closed: frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        self._page = page
        self._closed = closed
        self._max_bytes = max_bytes
        self._stop = stop
        self._joined: list[Joined] = []
        self._buffer = bytearray(_JOINED_BYTES)
        self._room = memoryview(self._buffer)
        self._filled = 0
        self._large = bytearray()

    def add(self, entry: Entry) -> None:
        """Read a file; an unreadable or too large one counts as skipped."""
        if self._stop.is_set():
            raise Stopped
        try:
            descriptor = os.open(entry.name, OPEN_FILE, dir_fd=entry.folder)
        except OSError:
            self._page.skipped += 1
            return
        try:
            if self._closed and identity(descriptor) in self._closed:
                return
            self.read(entry.path, descriptor)
        except OSError:
            self._page.skipped += 1
        finally:
            os.close(descriptor)

    def read(self, path: str, descriptor: int) -> None:
        """Read an open file from its beginning.

        Raises:
            OSError: it is unreadable.
        """
        if _JOINED_BYTES - self._filled < _LEAST_ROOM:
            self.flush()
        start = self._filled
        room = _JOINED_BYTES - start - 1
        # a read that leaves room has reached the end: most files need neither fstat nor a second
        # read, and anything but a regular file cannot fill the room without the check below
        size = os.readv(descriptor, [self._room[start : start + room]])
        if size == room:
            self._read_large(path, descriptor)
        elif size > self._max_bytes:
            self._page.skipped += 1
        elif size and (has_mark(self._buffer, start) or self._is_foreign(start, size)):
            self._add_alone(path, self._buffer[start : start + size], size)
        else:
            size = self._with_plain_breaks(start, size)
            self._joined.append(Joined(path, start, start + size))
            self._buffer[start + size] = _NEWLINE
            self._filled = start + size + 1

    def flush(self) -> None:
        """Search data that was read and not yet searched."""
        if self._joined:
            self._page.add_joined(self._joined, self._buffer)
        self._joined = []
        self._filled = 0

    def _is_foreign(self, start: int, size: int) -> bool:
        """Return whether a text has another encoding than the pattern's letters."""
        if not self._page.reads_letters:
            return False
        return as_utf8(bytes(self._room[start : start + size])) is not None

    def _with_plain_breaks(self, start: int, size: int) -> int:
        """Normalize line endings if the page needs it; return the new size."""
        if not self._page.plain_breaks:
            return size
        plain = with_plain_breaks(self._buffer, start, start + size)
        if plain is None:
            return size
        self._room[start : start + len(plain)] = plain
        return len(plain)

    def _add_alone(self, path: str, buffer: bytearray, size: int) -> None:
        self.flush()
        self._page.add(path, buffer, size)

    def _read_large(self, path: str, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._max_bytes:
            self._page.skipped += 1
            return
        if status.st_size >= len(self._large):
            self._large.extend(bytes(status.st_size + 1 - len(self._large)))
        os.lseek(descriptor, 0, os.SEEK_SET)
        size = self._read_all(descriptor)
        if size > self._max_bytes:
            self._page.skipped += 1
        else:
            self._add_alone(path, self._large, size)

    def _read_all(self, descriptor: int) -> int:
        """Fill `_large`; growth of the file meanwhile is ignored."""
        size = 0
        while size < len(self._large):
            if self._stop.is_set():
                raise Stopped
            with memoryview(self._large) as view:
                count = os.readv(descriptor, [view[size : size + _CHUNK]])
            if not count:
                break
            size += count
        return size
