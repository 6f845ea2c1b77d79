"""Which rows of the audit a filter finds, and how they are found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.dialects import sqlite
from sqlmodel import select

from app.core.clock import SystemClock
from app.core.redaction import Redactor
from app.db.engine import Database
from app.db.tables import AuditRow
from app.db.writer import SqliteWriter
from app.governance.audit.filters import AuditFilters
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.audit.reader import AuditReader, conditions
from tests.support.database import new_database

KINDS = ("call.decided", "call.finished", "governance.rule", "call.finished", "auth.refused")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    path = tmp_path / "tollgate.db"
    await asyncio.to_thread(new_database, path)
    db = SqliteWriter(path)
    await db.start()
    audit = AuditLog(db, SystemClock(), Redactor())
    for kind in KINDS:
        audit.record(AuditEntry(kind, actor="somebody"))
    await db.close()
    database = Database(path)
    yield database
    await database.close()


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (None, list(KINDS)),
        ("call.", ["call.decided", "call.finished", "call.finished"]),
        ("call.finished", ["call.finished", "call.finished"]),
        ("call.finished.", []),
        ("call.d", ["call.decided"]),
        ("governance.", ["governance.rule"]),
        ("auth.refused", ["auth.refused"]),
        ("", list(KINDS)),
        ("CALL.", []),
    ],
)
async def test_a_kind_is_given_by_how_it_begins(
    database: Database, kind: str | None, found: list[str]
):
    reader = AuditReader(database)
    oldest_first = await reader.after(AuditFilters(kind=kind), 0)
    newest_first = await reader.page(AuditFilters(kind=kind), limit=10)
    assert [row.kind for row in oldest_first] == found
    assert [row.kind for row in newest_first] == found[::-1]


@pytest.mark.parametrize(
    "wanted", [AuditFilters(kind="governance."), AuditFilters(subject="rul_1")]
)
async def test_what_is_no_end_of_a_call_is_found_without_looking_through_them(
    database: Database, wanted: AuditFilters
):
    query = select(AuditRow).where(*conditions(wanted))
    dialect = sqlite.dialect()
    sql = str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    async with database.session() as session:
        connection = await session.connection()
        plan = (await connection.execute(text(f"EXPLAIN QUERY PLAN {sql}"))).all()
    assert "ix_audit_beside_calls" in str(plan)
