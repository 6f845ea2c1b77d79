"""Taking turns on the event loop: of many that come at once, one begins in each of its turns."""

from __future__ import annotations

import asyncio
from collections import deque


class LoopPacer:
    """Spreads what comes in a burst over turns of the loop, so that others get theirs between.

    The loop runs whatever is ready before it looks at its sockets again: two hundred starts
    that are ready together would hold up everybody else for as long as all of them take. Who
    comes alone does not wait. Must be used on one event loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def next(self) -> None:
        """Return when it is the caller's turn, in the order of the callers."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._pass_on, loop)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _pass_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Once in a turn of the loop, as long as somebody waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # one that was cancelled needs none
                turn.set_result(None)
                loop.call_soon(self._pass_on, loop)
                return
        self._is_taken = False
