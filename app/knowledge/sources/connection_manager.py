"""Connections to databases: a small pool per source, replaced when the source changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from app.config.sources import SourceSettings
from app.core.clock import Clock
from app.core.errors import ConfigurationError, ToolFailed
from app.core.redaction import Redactor
from app.knowledge.sources.drivers.mysql import MysqlDriver
from app.knowledge.sources.drivers.postgres import PostgresDriver
from app.knowledge.sources.drivers.protocol import ConnectionTarget, Driver, SourceConnection
from app.knowledge.sources.drivers.shielded import begun, surely
from app.knowledge.sources.drivers.sqlite import SqliteDriver
from app.knowledge.sources.model import Kind, Source
from app.knowledge.sources.store import SourceStore

T = TypeVar("T")

DRIVERS: dict[Kind, Driver] = {
    "mysql": MysqlDriver(),
    "postgres": PostgresDriver(),
    "sqlite": SqliteDriver(),
}

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


class ConnectionManager:
    """Connections to stored sources.

    Args:
        hidden: folders of the service itself, which may not contain SQLite files.
    """

    def __init__(
        self,
        store: SourceStore,
        settings: SourceSettings,
        clock: Clock,
        redactor: Redactor,
        *,
        hidden: tuple[str, ...],
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._redactor = redactor
        self._hidden = hidden
        self._pools: dict[str, tuple[Source, Pool]] = {}
        store.watch(self._close_outdated)

    def target(self, source: Source) -> ConnectionTarget:
        """Return the data needed to connect. The password is masked everywhere from now on.

        Raises:
            ConfigurationError: the stored password cannot be decrypted.
        """
        password = self._store.password(source)
        self._redactor.learn(f"data source {source.id}", [password] if password else [])
        folders = tuple(str(folder) for folder in self._settings.sqlite_folders)
        return ConnectionTarget(source.name, source.address, password, folders, self._hidden)

    async def connect(self, source: Source) -> SourceConnection:
        """Open a separate connection, outside the pool.

        Raises:
            ToolFailed, ConfigurationError: see `Driver.connect` and `target`.
        """
        return await DRIVERS[source.kind].connect(self.target(source))

    async def use(self, source: Source, work: Callable[[SourceConnection], Awaitable[T]]) -> T:
        """Run reading work on a pooled connection.

        A connection that broke while idle is replaced once, and the work repeated.

        Raises:
            ToolFailed: see `Pool.lend`, or errors of `work`.
        """
        pool = self._pool(source)
        async with pool.lend() as (connection, is_new):
            try:
                return await work(connection)
            except ToolFailed as error:
                if is_new or error.details.get("code") != "source_unavailable":
                    raise
        async with pool.lend(fresh=True) as (connection, _):
            return await work(connection)

    @asynccontextmanager
    async def alone(self, source: Source) -> AsyncIterator[SourceConnection]:
        """Open a connection for one test, closed at the end.

        Raises:
            ToolFailed, ConfigurationError: see `connect`.
        """
        connection = await self.connect(source)
        try:
            yield connection
        finally:
            await connection.close()

    async def close(self) -> None:
        """Close every pool."""
        pools, self._pools = self._pools, {}
        for _, pool in pools.values():
            await pool.close()

    def _close_outdated(self) -> None:
        """Close connections to changed or deleted sources."""
        current = {source.id: source for source in self._store.list_all()}
        for source, pool in list(self._pools.values()):
            if current.get(source.id) != source:
                del self._pools[source.id]
                begun(pool.close())

    def _pool(self, source: Source) -> Pool:
        if source not in self._store.list_all():
            # The call found it before the change, so its permission may be outdated.
            raise ToolFailed(
                f"The data source {source.name!r} was changed; try again",
                code="source_unavailable",
            )
        known = self._pools.get(source.id)
        if known is not None:
            return known[1]

        async def connect() -> SourceConnection:
            try:
                return await self.connect(source)
            except ConfigurationError:
                # Administrators see the reason when they test the source.
                raise ToolFailed(
                    f"The data source {source.name!r} is not available: its stored "
                    "password cannot be decrypted; contact an administrator",
                    code="source_unavailable",
                ) from None

        pool = Pool(
            connect,
            self._clock,
            name=source.name,
            size=self._settings.connections,
            idle_s=self._settings.idle_s,
        )
        self._pools[source.id] = (source, pool)
        return pool
