"""Concurrent reads of memory, on separate connections in threads."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, TypeVar

from app.core.errors import StorageUnavailable

T = TypeVar("T")
_PATIENCE_S = 5


class Query(Protocol):
    """Query; all queries of one `read` see the same snapshot."""

    def __call__(self, sql: str, values: Sequence[Any] = (), /) -> list[tuple[Any, ...]]: ...


class SqliteReader:
    """Reader of one SQLite file, without blocking the loop or the writer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self, work: Callable[[Query], T]) -> T:
        """Run `work` in a thread.

        Raises:
            StorageUnavailable: the database is currently not readable.
        """
        return await asyncio.to_thread(self._read, work)

    def _read(self, work: Callable[[Query], T]) -> T:
        try:
            with closing(self._open()) as connection:

                def query(sql: str, values: Sequence[Any] = (), /) -> list[tuple[Any, ...]]:
                    return connection.execute(sql, values).fetchall()

                connection.execute("BEGIN")
                return work(query)
        except sqlite3.OperationalError as error:
            raise StorageUnavailable(
                f"Cannot read the database ({error}): try again; `tollgate doctor` shows details",
                database=self._path.name,
            ) from None

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_PATIENCE_S, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        return connection
