"""Output pipes of a process, read into one bounded queue.

If the queue is full, reading stops, the pipes fill up, and the program blocks in its write:
excessive output costs at most the bound plus the kernel's pipe buffers.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from app.operations.protocols.processes import ProcessChunk

Stream = Literal["stdout", "stderr"]
QUEUE_BYTES = 256 << 10
_READ = 64 << 10


class OutputPipes:
    """Output pipes. Owns the descriptors; must be used on the loop's thread.

    Args:
        limit: bytes after which `on_flood` is called once; later output is dropped.
    """

    def __init__(
        self,
        descriptors: Mapping[Stream, int],
        bound: int = QUEUE_BYTES,
        *,
        limit: int | None = None,
        on_flood: Callable[[], None] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: dict[Stream, int] = dict(descriptors)
        self._bound = bound
        self._left = limit
        self._on_flood = on_flood
        self._chunks: deque[ProcessChunk] = deque()
        self._size = 0
        self._paused = True
        self._discard = False
        self._flooded = False
        self._finished = False
        self._changed = asyncio.Event()
        for descriptor in self._open.values():
            os.set_blocking(descriptor, False)
        self._resume()

    @property
    def at_end(self) -> bool:
        """Return whether all pipes are closed; chunks may still be queued."""
        return not self._open

    def finish(self) -> None:
        """Mark the end of the process: output ends once the pipes are closed."""
        self._finished = True
        self._changed.set()

    def discard(self) -> None:
        """Drop queued and future output."""
        self._discard = True
        self._chunks.clear()
        self._size = 0
        self._resume()

    def cut(self) -> None:
        """Read what the pipes contain now, even beyond the bound, and close them."""
        for stream, descriptor in list(self._open.items()):
            self._take_pending(stream, descriptor)
            self._close(stream)

    def close(self) -> None:
        """Close without reading; the queue stays."""
        for stream in list(self._open):
            self._close(stream)
        self.finish()

    async def next(self) -> ProcessChunk | None:
        """Return the next chunk; None after the end of the process and all output."""
        while not self._chunks:
            if self._finished and not self._open:
                return None
            self._changed.clear()
            await self._changed.wait()
        chunk = self._chunks.popleft()
        self._size -= len(chunk.data)
        if self._size < self._bound:
            self._resume()
        return chunk

    def _resume(self) -> None:
        if not self._paused:
            return
        self._paused = False
        for stream, descriptor in self._open.items():
            self._loop.add_reader(descriptor, self._readable, stream, descriptor)

    def _pause(self) -> None:
        self._paused = True
        for descriptor in self._open.values():
            self._loop.remove_reader(descriptor)

    def _readable(self, stream: Stream, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(stream)
            return
        self._put(stream, data)
        if self._size >= self._bound:
            self._pause()

    def _put(self, stream: Stream, data: bytes) -> None:
        data = self._within_limit(data)
        if self._discard or not data:
            return
        self._chunks.append(ProcessChunk(stream, data))
        self._size += len(data)
        self._changed.set()

    def _within_limit(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        taken = data[: self._left]
        self._left -= len(taken)
        if len(taken) < len(data) and not self._flooded:
            self._flooded = True
            if self._on_flood is not None:
                self._on_flood()
        return taken

    def _take_pending(self, stream: Stream, descriptor: int) -> None:
        with suppress(OSError):
            pending = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0]
            while pending > 0 and not self._discard:
                data = os.read(descriptor, min(pending, _READ))
                if not data:
                    return
                pending -= len(data)
                self._put(stream, data)

    def _close(self, stream: Stream) -> None:
        descriptor = self._open.pop(stream)
        self._changed.set()
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
