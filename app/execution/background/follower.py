"""Hands output to the call that waits for it, and makes the program wait for the call."""

from __future__ import annotations

import asyncio
from collections import deque

from app.toolkit.context import Output

QUEUED = 4


class Follower:
    """One writer, one reader, a few pieces between them."""

    def __init__(self) -> None:
        self._pieces: deque[Output] = deque()
        self._is_over = False
        self._is_gone = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, piece: Output) -> None:
        """Hand over; waits for room, unless the reader has left."""
        while len(self._pieces) >= QUEUED and not self._is_gone:
            self._room.clear()
            await self._room.wait()
        if not self._is_gone:
            self._pieces.append(piece)
            self._news.set()

    async def next(self) -> Output | None:
        """The next piece; None after the last one, and for a reader that has left."""
        while not self._pieces:
            if self._is_over or self._is_gone:
                return None
            self._news.clear()
            await self._news.wait()
        self._room.set()
        return self._pieces.popleft()

    def finish(self) -> None:
        """Nothing comes any more."""
        self._is_over = True
        self._news.set()

    def leave(self) -> None:
        """Nobody reads any more; harmless when repeated."""
        self._is_gone = True
        self._pieces.clear()
        self._room.set()
        self._news.set()
