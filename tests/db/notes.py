"""Two tables, and the statements that write them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from app.db.statements import insert
from app.db.writer import SqliteWriter, Transaction

SCHEMA = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE lines (note INTEGER NOT NULL REFERENCES notes (id), body TEXT NOT NULL);
"""
ADD = insert(1, "notes", "id, body")
ADD_SURELY = insert(2, "notes", "id, body", barrier=True)
ADD_LINE = insert(3, "lines", "note, body")
PATIENCE_S = 60
T = TypeVar("T")


class Timed(SqliteWriter):
    """A database writer that nobody waits for without end: a writer that died shows as an error."""

    async def flush(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await super().flush()

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        async with asyncio.timeout(PATIENCE_S):
            return await super().transact(work)


def stored(path: Path, sql: str = "SELECT id FROM notes ORDER BY rowid") -> list[Any]:
    """The first column, read by a connection of its own."""
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute(sql)]


def add(number: int):
    """A unit of work that adds one note."""

    def work(transaction: Transaction) -> int:
        return transaction.execute(ADD.sql, (number, "by work"))

    return work


class Commits:
    """The watermarks a database writer has announced."""

    def __init__(self, db: SqliteWriter) -> None:
        self.marks: list[int] = []
        self._news = asyncio.Event()
        db.subscribe(self._on_commit)

    def _on_commit(self, mark: int) -> None:
        self.marks.append(mark)
        self._news.set()

    async def reached(self, mark: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self.marks or self.marks[-1] < mark:
                self._news.clear()
                await self._news.wait()
