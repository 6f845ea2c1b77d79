"""Pacing of concurrent work on the event loop: one start per iteration of the loop."""

from __future__ import annotations

import asyncio
from collections import deque


class LoopPacer:
    """Spreads a burst of work over iterations of the event loop, so that other work runs between.

    The loop runs everything that is ready before it checks its sockets again: two hundred starts
    that are ready together would delay all other work. A single caller does not wait. Must be used
    on one event loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def next(self) -> None:
        """Wait for the caller's turn; callers get theirs in order."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._pass_on, loop)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _pass_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake one caller per iteration of the loop, while any caller waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # skip cancelled callers
                turn.set_result(None)
                loop.call_soon(self._pass_on, loop)
                return
        self._is_taken = False
