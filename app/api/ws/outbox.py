"""What waits to be sent on one connection: bounded, and never awaited by a publisher."""

from __future__ import annotations

import asyncio
from collections import deque


class Outbox:
    """A queue of encoded messages.

    When it is full, live output is dropped, oldest first: the durable event that follows
    carries the whole. When durable events alone overflow it, nothing more is taken and
    `overflowed` tells the writer to close: the client resumes from the log.
    """

    def __init__(self, *, max_frames: int, max_bytes: int) -> None:
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._frames: deque[tuple[bytes, bool]] = deque()
        self._bytes = 0
        self._ready = asyncio.Event()
        self.overflowed = False
        self.dropped = 0

    def put(self, body: bytes, *, droppable: bool = False) -> None:
        """Queue a message."""
        if self.overflowed:
            return
        self._frames.append((body, droppable))
        self._bytes += len(body)
        if len(self._frames) > self._max_frames or self._bytes > self._max_bytes:
            self._make_room()
        self._ready.set()

    async def take(self) -> list[bytes]:
        """Everything that waits; waits itself while there is nothing."""
        while not self._frames and not self.overflowed:
            self._ready.clear()
            await self._ready.wait()
        if self.overflowed:
            return []
        bodies = [body for body, _ in self._frames]
        self._frames.clear()
        self._bytes = 0
        return bodies

    def _make_room(self) -> None:
        kept: deque[tuple[bytes, bool]] = deque()
        excess_frames = len(self._frames) - self._max_frames
        excess_bytes = self._bytes - self._max_bytes
        for body, droppable in self._frames:
            if droppable and (excess_frames > 0 or excess_bytes > 0):
                excess_frames -= 1
                excess_bytes -= len(body)
                self._bytes -= len(body)
                self.dropped += 1
            else:
                kept.append((body, droppable))
        self._frames = kept
        if excess_frames > 0 or excess_bytes > 0:
            self.overflowed = True
            self._frames.clear()
            self._bytes = 0
