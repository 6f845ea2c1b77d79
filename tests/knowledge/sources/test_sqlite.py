"""SQLite files: which may be opened, and what a statement may do there."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import ToolFailed
from app.knowledge.sources.drivers.protocol import ConnectionTarget, Readable, StatementLimits
from app.knowledge.sources.drivers.sqlite import SqliteConnection, SqliteDriver, checked_file
from app.knowledge.sources.model import DatabaseAddress, TableName
from tests.knowledge.sources.shops import code_of
from tests.support.sql_servers import sqlite_file
from tests.support.sql_shop import TABLES

CUSTOMERS = Readable(TableName("main", "customers"), frozenset({"customerId", "fullName"}))
BOUNDS = StatementLimits(1000, 1_000_000, 15, readable=(CUSTOMERS,))
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"


def target_of(
    path: Path, *, folder: Path | None = None, hidden: Path | None = None
) -> ConnectionTarget:
    hiding = (str(hidden),) if hidden else ()
    return ConnectionTarget(
        "Shop", DatabaseAddress(file=str(path)), None, (str(folder or path.parent),), hiding
    )


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteConnection]:
    connection = await SqliteDriver().connect(target_of(path))
    try:
        yield connection
    finally:
        await connection.close()


async def test_rows_are_read_up_to_the_limit(shop_file: Path):
    async with opened(shop_file) as connection:
        found = await connection.run("SELECT fullName FROM customers ORDER BY 1", BOUNDS)
        capped = await connection.run("SELECT * FROM events", StatementLimits(10, 10_000, 5))
    assert found.rows == [["Ada Lovelace"], ["Alan Turing"], ["Grace Hopper"]]
    assert (len(capped.rows), capped.truncated) == (10, True)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT email FROM customers",
        "SELECT * FROM customers",
        "SELECT count(*) FROM secrets",
        "SELECT name FROM sqlite_master",
        "SELECT * FROM pragma_table_info('customers')",
        "SELECT * FROM (SELECT phone FROM customers)",
        "WITH customers AS (SELECT value FROM secrets) SELECT * FROM customers",
        "ATTACH ':memory:' AS other",
        "PRAGMA query_only = OFF",
        "DELETE FROM customers",
        "CREATE TEMP TABLE made (a)",
        "VACUUM INTO '/tmp/never.db'",
        "SELECT load_extension('x')",
    ],
)
async def test_the_authorizer_lets_pass_what_reads_allowed_columns(shop_file: Path, sql: str):
    async with opened(shop_file) as connection:
        with pytest.raises(ToolFailed) as caught:
            await connection.run(sql, BOUNDS)
        assert code_of(caught.value) == "query_failed"
        assert (await connection.run("SELECT count(*) FROM customers", BOUNDS)).rows == [[3]]


@pytest.mark.parametrize("sql", ["DELETE FROM customers", "SELECT name FROM sqlite_master"])
async def test_without_a_list_of_columns_it_still_only_reads(shop_file: Path, sql: str):
    async with opened(shop_file) as connection:
        with pytest.raises(ToolFailed, match="does not allow"):
            await connection.run(sql, replace(BOUNDS, readable=None))


async def test_what_is_late_is_stopped(shop_file: Path):
    async with opened(shop_file) as connection:
        for bounds in (
            StatementLimits(1, 1000, 0.05, grace_s=30),
            StatementLimits(1, 1000, 30, grace_s=-29.9),
        ):
            with pytest.raises(ToolFailed) as caught:
                await connection.run(ENDLESS, bounds)
            assert code_of(caught.value) == "query_timeout"
        assert (await connection.run("SELECT count(*) FROM customers", BOUNDS)).rows == [[3]]


async def test_cancelling_ends_the_thread_too(shop_file: Path):
    async with opened(shop_file) as connection:
        work = asyncio.create_task(connection.run(ENDLESS, StatementLimits(1, 1000, 60)))
        await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        # One thing at a time: this would not come back while the other still ran.
        assert (await connection.run("SELECT count(*) FROM customers", BOUNDS)).rows == [[3]]


async def test_a_value_that_is_too_large_is_refused(shop_file: Path):
    async with opened(shop_file) as connection:
        with pytest.raises(ToolFailed, match="too large"):
            await connection.run("SELECT zeroblob(50000000)", BOUNDS)


async def test_tables_tell_their_columns_and_keys(shop_file: Path):
    async with opened(shop_file) as connection:
        tables = {item.table.name: item for item in await connection.tables(None, 1000)}
    assert set(tables) == set(TABLES)
    orders = tables["orders"]
    assert [column.name for column in orders.columns] == [
        "orderId",
        "customerId",
        "placedAt",
        "total",
    ]
    assert orders.primary_key == ("orderId",)
    assert [item.name for item in orders.indexes] == ["ordersByCustomer"]
    assert orders.foreign_keys[0].table == TableName("main", "customers")
    assert tables["orderItems"].primary_key == ("orderId", "line")


def test_a_file_must_lie_in_a_folder_of_the_operator(tmp_path: Path, shop_file: Path):
    inside = tmp_path / "inside"
    inside.mkdir()
    good = inside / "a.db"
    good.write_bytes(b"")
    sibling = tmp_path / "inside_evil"
    sibling.mkdir()
    (sibling / "b.db").write_bytes(b"")
    (inside / "link.db").symlink_to(sibling / "b.db")
    assert checked_file(target_of(good, folder=inside)) == good.resolve()
    for bad in (
        sibling / "b.db",
        inside / "link.db",
        inside / ".." / "inside_evil" / "b.db",
        inside / "none.db",
        inside,
        Path("\0"),
        shop_file,
    ):
        with pytest.raises(ToolFailed) as caught:
            checked_file(target_of(bad, folder=inside))
        assert str(tmp_path) not in caught.value.message


def test_a_file_of_the_service_itself_is_never_opened(tmp_path: Path):
    own = tmp_path / "tollgate.db"
    own.write_bytes(b"")
    with pytest.raises(ToolFailed, match="outside the folders"):
        checked_file(target_of(own, folder=tmp_path, hidden=tmp_path))


async def test_what_is_no_database_is_refused(tmp_path: Path):
    path = tmp_path / "notes.db"
    path.write_text(
        "not a readable database at all, but long enough to be looked at", encoding="utf-8"
    )
    with pytest.raises(ToolFailed, match="not a readable database"):
        await SqliteDriver().connect(target_of(path))


async def test_odd_text_is_reported_all_the_same(tmp_path: Path):
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE t (a TEXT)")
        raw.execute("INSERT INTO t VALUES (CAST(X'ff41' AS TEXT))")
        raw.commit()
    async with opened(path) as connection:
        found = await connection.run("SELECT a FROM t", replace(BOUNDS, readable=None))
    assert found.rows == [["\ufffdA"]]


def test_the_shop_can_be_made_anywhere(tmp_path: Path):
    with closing(sqlite3.connect(sqlite_file(tmp_path / "s.db"))) as raw:
        assert raw.execute("SELECT count(*) FROM events").fetchone() == (1_000_000,)
