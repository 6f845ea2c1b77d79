"""Reads: SQLModel over an async engine. The database writer does the writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from app.core.errors import StorageUnavailable

T = TypeVar("T")


class Database:
    """Read-only access to the database, for lists and pages."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # A reader must not create a missing file.
        query = {"mode": "rw", "uri": "true"}
        name = f"file:{quote(str(path))}"
        url = sqlalchemy.URL.create("sqlite+aiosqlite", database=name, query=query)
        self._engine = create_async_engine(url, connect_args={"timeout": 5})
        event.listen(self._engine.sync_engine, "connect", _prepare)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """Open a session for queries.

        Raises:
            StorageUnavailable: the database is currently not readable.
        """
        # A connection that fails to open leaves a thread that outlives the loop.
        if not self._path.exists():
            raise StorageUnavailable(f"Cannot read the database: {self._path.name} does not exist")
        try:
            async with AsyncSession(self._engine) as session:
                yield session
        except OperationalError as error:
            raise StorageUnavailable(f"Cannot read the database: {error.orig}") from None

    async def all(self, query: SelectOfScalar[T]) -> Sequence[T]:
        """Every row of a query.

        Raises:
            StorageUnavailable: as `session`.
        """
        async with self.session() as session:
            return (await session.exec(query)).all()

    async def close(self) -> None:
        await self._engine.dispose()


def _prepare(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA query_only = ON")
    cursor.close()
