"""Reads whose result simultaneous callers share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class _Read(Generic[T]):
    """Read in progress. `done` is cancelled if it has no result."""

    number: int
    done: asyncio.Future[T]


class SharedReads(Generic[T]):
    """Reads by key, at most one at a time for each.

    A result is shared only with callers who came before its read began, so nobody gets a state
    older than their call. Hundreds of callers thus cost two reads: one in progress, and one for
    everybody who came meanwhile.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._reads: dict[Hashable, _Read[T]] = {}

    async def get(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `read`, or that of another caller with the same key."""
        asked = self._begun
        while (current := self._reads.get(key)) is not None:
            await asyncio.wait({current.done})
            if current.number > asked and not current.done.cancelled():
                return current.done.result()
        return await self._lead(key, read)

    async def _lead(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Read for everybody who waits. If that fails, the next of them reads."""
        self._begun += 1
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._reads[key] = _Read(self._begun, done)
        try:
            result = await read()
            done.set_result(result)
            return result
        finally:
            done.cancel()
            del self._reads[key]
