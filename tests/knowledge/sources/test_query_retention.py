"""Old rows of the audit of queries go, the others stay, and the audit tells of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.core.clock import isoformat
from app.db.writer import Transaction
from app.governance.audit.retention import TRIM_ROWS, Kept, RowRetention
from tests.execution.lab import Lab

ADD = (
    "INSERT INTO query_audit (ts, source_id, tool_name, sql, tables, rows, ms, verdict)"
    " VALUES (?, 'src_1', 'mysql_query', ?, '[]', 0, 0, 'allowed')"
)


async def write(lab: Lab, sql: str, *, days: float, times: int = 1) -> None:
    """Rows of queries that were asked so many days ago."""
    moment = isoformat(lab.runtime.clock.now() - timedelta(days=days))

    def add(transaction: Transaction) -> None:
        for _ in range(times):
            transaction.execute(ADD, (moment, sql))

    await lab.runtime.db.transact(add)


def retention(lab: Lab, days: int) -> RowRetention:
    runtime = lab.runtime
    kept = Kept("query_audit", "sql.trimmed", days)
    return RowRetention(runtime.db, runtime.clock, runtime.audit, kept)


async def left(lab: Lab) -> list[tuple[str, ...]]:
    return await lab.rows("SELECT DISTINCT sql FROM query_audit ORDER BY seq")


@pytest.mark.requirement("SQL-08")
async def test_what_is_older_than_it_must_be_kept_goes_however_much_it_is(lab: Lab):
    await write(lab, "old", days=31, times=2 * TRIM_ROWS + 1)
    await write(lab, "new", days=29)
    assert await retention(lab, 30).trim() == 2 * TRIM_ROWS + 1
    assert await left(lab) == [("new",)]
    reported = await lab.rows("SELECT actor FROM audit WHERE kind = 'sql.trimmed'")
    assert reported == [("system",)] * 3
    assert await retention(lab, 30).trim() == 0


async def test_without_a_limit_everything_stays(lab: Lab):
    await write(lab, "old", days=5000)
    assert await retention(lab, 0).trim() == 0
    assert await left(lab) == [("old",)]
