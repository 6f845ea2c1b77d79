"""Pages of sessions are read from an index, however many sessions there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from app.agents.session_queries import SessionQueries
from app.db.engine import Database
from app.db.statements import ADD_SESSION
from app.db.writer import SqliteWriter
from tests.support.database import new_database

# By time of the last use; two at the same time are in the order of their IDs.
STORED = [
    ("ses_5", "direct", "ann", "t5"),
    ("ses_4", "chat", "ann", "t4"),
    ("ses_3", "chat", "bob", "t3"),
    ("ses_2", "direct", "bob", "t3"),
    ("ses_1", "chat", "ann", "t1"),
]
Filter = tuple[str | None, str | None]
FILTERS = [(user, kind) for user in (None, "ann") for kind in (None, "chat", "direct")]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    path = tmp_path / "tollgate.db"
    await asyncio.to_thread(new_database, path)
    db = SqliteWriter(path)
    await db.start()
    for name, kind, user, moment in STORED:
        row = (name, kind, "t", None, None, user, None, None, None, "ep", "{}", moment, moment)
        db.append(ADD_SESSION, row)
    await db.close()
    opened = Database(path)
    yield opened
    await opened.close()


@pytest.fixture
def queries() -> Iterator[list[tuple[str, Any]]]:
    """The SQL and parameters of what is read."""
    seen: list[tuple[str, Any]] = []

    def keep(_: Any, __: Any, sql: str, parameters: Any, *rest: Any) -> None:
        seen.append((sql, parameters))

    event.listen(Engine, "before_cursor_execute", keep)
    yield seen
    event.remove(Engine, "before_cursor_execute", keep)


@pytest.mark.parametrize(("user", "kind"), FILTERS)
async def test_pages_together_are_all_sessions_newest_first(
    database: Database, user: str | None, kind: str | None
):
    archive, found, before = SessionQueries(database), [], None
    while page := await archive.sessions(user, kind=kind, limit=2, before=before):
        found += [row.id for row in page]
        before = found[-1]
    assert found == [
        name for name, its, whose, _ in STORED if kind in (None, its) and user in (None, whose)
    ]


@pytest.mark.parametrize(("user", "kind"), FILTERS)
async def test_a_page_is_read_in_the_order_of_an_index(
    database: Database, queries: list[tuple[str, Any]], user: str | None, kind: str | None
):
    await SessionQueries(database).sessions(user, kind=kind, limit=2, before="ses_3")
    reads = [(sql, each) for sql, each in queries if "ORDER BY" in sql]
    chats = "chats" if kind == "chat" else "sessions"
    index = f"ix_{chats}_newest " if user is None else "ix_sessions_of_user "
    async with database.session() as session:
        connection = await session.connection()
        for sql, each in reads:
            plan = (await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", each)).all()
            assert index in str(plan)
            assert "TEMP B-TREE" not in str(plan)
    assert len(reads) == (2 if user and not kind else 1)
