"""Limited number of slots, first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress


class ProcessSlots:
    """Counter of concurrent processes. A cancelled waiter does not take a slot.

    Attributes:
        waiting: number of waiters.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    def try_take(self) -> bool:
        """Take a slot without waiting; never before earlier waiters."""
        if self._waiters or not self._free:
            return False
        self._free -= 1
        return True

    async def take(self) -> None:
        """Take a slot in order of arrival."""
        if self.try_take():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back()  # it was granted at the same moment
            raise
        finally:
            with suppress(ValueError):
                self._waiters.remove(waiter)

    def give_back(self) -> None:
        """Release a slot to the longest waiter."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
