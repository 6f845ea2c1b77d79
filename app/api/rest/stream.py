"""Event stream of a session for one client: missed events, then live ones, each once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

from app.agents.session_queries import SessionQueries
from app.core.errors import UnrecoverablePosition
from app.events.log import Frame, SessionLog

PAGE = 200
QUIET_S = 15.0
SILENCE = Frame(0, b"")


class Feed:
    """`Subscriber` of a session's log with a bounded queue.

    Live output that does not fit is dropped: the durable event after it contains all of it. If a
    durable event does not fit, the feed ends, and the client reconnects with its last `seq`.

    Call `prepare` before `frames`.

    Raises:
        UnrecoverablePosition: `after` is beyond the end of the log.
    """

    def __init__(
        self, log: SessionLog, *, after: int, ephemerals: bool, max_frames: int, max_bytes: int
    ) -> None:
        # No await comes between reading the head and registering the feed: events committed up to
        # here are replayed, later ones are delivered.
        self._log = log
        self._after = after
        self._head = log.committed
        if after > self._head:
            raise UnrecoverablePosition(
                f"The log ends at {self._head}; load the snapshot and continue from there",
                head=self._head,
            )
        self._ephemerals = ephemerals
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._waiting: deque[Frame] = deque()
        self._bytes = 0
        self._ready = asyncio.Event()
        self._closed = False
        self._snapshots = self._live_output() if ephemerals else []
        self._snapshots_after = log.head
        self._recent = log.recent(after)
        log.subscribers.add(self)

    def deliver(self, session_id: str, frame: Frame) -> None:
        if self._closed or not (frame.seq or self._ephemerals):
            return
        full = len(self._waiting) >= self._max_frames or self._bytes >= self._max_bytes
        if full and not frame.seq:
            return
        if full and not self._make_room():
            self.close()
            return
        self._waiting.append(frame)
        self._bytes += len(frame.body)
        self._ready.set()

    def close(self) -> None:
        """Accept no more events, and end the stream after the queued ones."""
        self._log.subscribers.discard(self)
        self._closed = True
        self._ready.set()

    async def prepare(self, archive: SessionQueries) -> None:
        """Read the first page of missed events.

        Raises:
            UnrecoverablePosition: the log no longer contains all of them.
        """
        if self._recent is not None:
            return
        self._recent = await self._page(archive, self._after)
        if not self._recent or self._recent[0].seq != self._after + 1:
            raise UnrecoverablePosition(
                "The log no longer goes back that far; load the snapshot and continue from there",
                head=self._head,
            )

    async def frames(self, archive: SessionQueries) -> AsyncGenerator[Frame, None]:
        """Yield every durable event with `seq > after` in order, and live output between them.

        After `QUIET_S` seconds without an event, yield `SILENCE`.
        """
        async for frame in self._missed(archive):
            yield frame
        due: list[Frame] | None = self._snapshots
        if self._snapshots_after <= self._head:
            for frame in self._snapshots:
                yield frame
            due = None
        while True:
            while self._waiting:
                frame = self._waiting.popleft()
                self._bytes -= len(frame.body)
                yield frame
                if due is not None and frame.seq >= self._snapshots_after:
                    for snapshot in due:
                        yield snapshot
                    due = None
            if self._closed:
                return
            self._ready.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_S):
                    await self._ready.wait()
            if not self._ready.is_set():
                yield SILENCE

    async def _missed(self, archive: SessionQueries) -> AsyncIterator[Frame]:
        page, self._recent = self._recent or [], None
        while page:
            for frame in page:
                yield frame
            last = page[-1].seq
            page = await self._page(archive, last) if last < self._head else []

    async def _page(self, archive: SessionQueries, after: int) -> list[Frame]:
        log = self._log
        rows = await archive.events(
            log.session_id, log.epoch, after=after, upto=self._head, limit=PAGE
        )
        return [Frame(seq, body) for seq, body in rows]

    def _live_output(self) -> list[Frame]:
        """Return the live output in progress; later pieces are delivered as events."""
        log = self._log
        return [
            Frame(0, log.encode_live(kind, fields))
            for source in list(log.live.values())
            for kind, fields in source.snapshot()
        ]

    def _make_room(self) -> bool:
        """Drop queued live output; return whether a durable event fits now."""
        self._waiting = deque(frame for frame in self._waiting if frame.seq)
        self._bytes = sum(len(frame.body) for frame in self._waiting)
        return len(self._waiting) < self._max_frames and self._bytes < self._max_bytes
