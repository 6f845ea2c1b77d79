"""Lines of standard input as they arrive, without a thread that cannot be stopped."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from app.cli.terminal import forget_typed

MAX_LINE_BYTES = 1 << 20


class StdinLines:
    """Reads a terminal, a pipe or a file line by line."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._buffer = bytearray()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()

    async def read(self) -> AsyncIterator[str]:
        """Yield every line without its line ending, until the input ends."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._fd, self._ready)
        except OSError:
            await asyncio.to_thread(self._read_file)
        try:
            while (line := await self._queue.get()) is not None:
                yield line
        finally:
            loop.remove_reader(self._fd)

    def forget(self) -> None:
        """Discard typed-ahead input, which was not meant for the current question."""
        if os.isatty(self._fd):
            forget_typed(self._fd)
            self._buffer.clear()
            while not self._queue.empty():
                if self._queue.get_nowait() is None:
                    self._queue.put_nowait(None)
                    break

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            data = b""
        if not data or len(self._buffer) > MAX_LINE_BYTES:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._finish()
            return
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            self._queue.put_nowait(line.decode("utf-8", "replace").strip("\r"))

    def _read_file(self) -> None:
        while data := os.read(self._fd, 1 << 16):
            self._buffer += data
        for line in self._buffer.splitlines():
            self._queue.put_nowait(line.decode("utf-8", "replace"))
        self._queue.put_nowait(None)

    def _finish(self) -> None:
        if self._buffer:
            self._queue.put_nowait(self._buffer.decode("utf-8", "replace"))
        self._queue.put_nowait(None)
