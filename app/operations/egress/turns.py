"""Turns of one sandbox at costly work, so that every other one is served in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

PART = 16 << 10
"""Bytes read in one turn: the most costly ones take some 30 ms."""


class Turns:
    """Does one piece of work each time that the loop has looked at all connections."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()
        self._arranged = False

    def add(self, work: Callable[[], None]) -> None:
        """Have `work` done after all that was added before."""
        self._waiting.append(work)
        self._arrange()

    async def next(self) -> None:
        """Return when it is the caller's turn."""
        turn = self._loop.create_future()
        self.add(lambda: None if turn.done() else turn.set_result(None))
        await turn

    def _arrange(self) -> None:
        if self._waiting and not self._arranged:
            self._arranged = True
            self._loop.call_soon(self._take_one)

    def _take_one(self) -> None:
        self._arranged = False
        work = self._waiting.popleft()
        self._arrange()
        work()
