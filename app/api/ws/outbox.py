"""Outgoing queue of one connection: bounded, and never awaited by publishers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

PAGE_FRAMES = 256
PAGE_BYTES = 1 << 20
MAX_REPLAY = 1000


class Backlog:
    """Backlog of one subscription, sent page by page when nothing newer waits."""

    def __init__(self, bodies: Iterable[bytes]) -> None:
        self.bodies = deque(bodies)

    def page(self) -> list[bytes]:
        """Remove and return the next messages, about 1 MiB and at most `PAGE_FRAMES`."""
        page: list[bytes] = []
        size = 0
        while self.bodies and len(page) < PAGE_FRAMES and size < PAGE_BYTES:
            size += len(self.bodies[0])
            page.append(self.bodies.popleft())
        return page


class Outbox:
    """Bounded queue of encoded messages.

    If it is full, live output is dropped, oldest first: the durable event that follows contains
    all of it. If durable events alone overflow it, it accepts no more messages, and `overflowed`
    makes the writer close the connection: the client resumes from the log.
    """

    def __init__(self, *, max_frames: int, max_bytes: int) -> None:
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._frames: deque[tuple[bytes, bool]] = deque()
        self._bytes = 0
        self._ready = asyncio.Event()
        self._backlogs: deque[Backlog] = deque()
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

    def catch_up(self, bodies: Iterable[bytes]) -> Backlog:
        """Add a backlog outside of the queue: a replay may exceed the queue's bounds."""
        backlog = Backlog(bodies)
        self._backlogs.append(backlog)
        self._ready.set()
        return backlog

    def append_to(self, backlog: Backlog, body: bytes) -> None:
        """Queue a message behind a backlog that is still being sent."""
        if len(backlog.bodies) >= self._max_frames + MAX_REPLAY:
            self._overflow()
        else:
            backlog.bodies.append(body)

    async def take(self) -> list[bytes]:
        """Take all queued messages, else a page of a backlog; wait while there is neither."""
        while not (self._frames or self._backlogs or self.overflowed):
            self._ready.clear()
            await self._ready.wait()
        if self.overflowed:
            return []
        if not self._frames:
            page = self._backlogs[0].page()
            if not self._backlogs[0].bodies:
                self._backlogs.popleft()
            return page
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
            self._overflow()

    def _overflow(self) -> None:
        self.overflowed = True
        self._frames.clear()
        self._backlogs.clear()
        self._bytes = 0
        self._ready.set()
