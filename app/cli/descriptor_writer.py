"""Writer to a file descriptor that never blocks the event loop."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable

MAX_WAITING = 8 << 20


class DescriptorWriter:
    """Thread that writes to one descriptor, in order.

    Live output beyond `limit` queued bytes is dropped, as the protocol allows; other output is
    always written.
    """

    def __init__(self, fd: int, *, limit: int = MAX_WAITING) -> None:
        self._fd = fd
        self._limit = limit
        self._on_closed: Callable[[], None] = _nothing
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._put_bytes = 0
        self._written_bytes = 0
        self._done: asyncio.Future[None] = self._loop.create_future()
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Call `callback` on the loop, once, when the reader closes."""
        self._on_closed = callback

    def put(self, data: bytes, *, droppable: bool = False) -> None:
        """Queue `data`."""
        if droppable and self._put_bytes - self._written_bytes > self._limit:
            self.dropped += len(data)
            return
        self._put_bytes += len(data)
        self._queue.put(data)

    async def close(self) -> None:
        """Wait until everything is written, or the reader closes."""
        self._queue.put(None)
        await self._done

    def _run(self) -> None:
        broken = False
        while (data := self._queue.get()) is not None:
            if not broken and not self._write(data):
                broken = True
                self._call(self._on_closed)
            self._written_bytes += len(data)
        self._call(self._finish)

    def _write(self, data: bytes) -> bool:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            return False
        return True

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

    def _call(self, function: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)


def _nothing() -> None:
    """Ignore a closed reader."""
