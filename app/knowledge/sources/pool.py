"""Small pool of connections to one source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from app.core.clock import Clock
from app.core.errors import ToolFailed
from app.knowledge.sources.drivers.protocol import SourceConnection
from app.knowledge.sources.drivers.shielded import surely

WAIT_S = 10.0


class Pool:
    """Pool of at most `size` connections; unused ones are closed after `idle_s`."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[SourceConnection]],
        clock: Clock,
        *,
        name: str,
        size: int,
        idle_s: float,
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._name = name
        self._idle_s = idle_s
        self._free = asyncio.Semaphore(size)
        self._idle: list[tuple[SourceConnection, float]] = []
        self._closed = False

    @asynccontextmanager
    async def lend(self, *, fresh: bool = False) -> AsyncIterator[tuple[SourceConnection, bool]]:
        """Lend a connection for one statement, with whether it is new; `fresh` requires a new one.

        Raises:
            ToolFailed: code `source_busy` if all are in use for `WAIT_S` seconds; or see
                `Driver.connect`.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                await self._free.acquire()
        except TimeoutError:
            raise ToolFailed(
                f"All connections to the data source {self._name!r} are in use; try again later",
                code="source_busy",
            ) from None
        try:
            await self._drop_old(everything=fresh)
            reused = self._idle.pop()[0] if self._idle else None
            connection = reused or await self._connect()
            try:
                yield connection, reused is None
            finally:
                await self._take_back(connection)
        finally:
            self._free.release()

    async def close(self) -> None:
        """Close unused connections now, and the others when returned."""
        self._closed = True
        await self._drop_old(everything=True)

    async def _take_back(self, connection: SourceConnection) -> None:
        if connection.is_usable and not self._closed:
            self._idle.append((connection, self._clock.monotonic()))
        else:
            await surely(connection.close())

    async def _drop_old(self, *, everything: bool) -> None:
        oldest = self._clock.monotonic() - self._idle_s
        old = [item for item in self._idle if everything or item[1] < oldest]
        self._idle = [item for item in self._idle if item not in old]
        for connection, _ in old:
            await surely(connection.close())
