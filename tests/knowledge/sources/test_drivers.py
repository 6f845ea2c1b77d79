"""What every driver promises, on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from app.core.errors import ToolFailed
from app.knowledge.sources.connection_manager import DRIVERS
from app.knowledge.sources.drivers.mysql import may_write
from app.knowledge.sources.drivers.protocol import (
    ConnectionTarget,
    SourceConnection,
    StatementLimits,
)
from app.knowledge.sources.model import DatabaseAddress, TableName, Tls
from tests.knowledge.sources.shops import code_of, schema_of
from tests.support.sql_servers import (
    PASSWORD,
    READER,
    WRITER,
    WRITER_PASSWORD,
    SqlServer,
    free_port,
)
from tests.support.sql_shop import COLUMN_COMMENT, TABLE_COMMENT, TABLES

BOUNDS = StatementLimits(1000, 1_000_000, 15)
SLEEP = {"mysql": "SELECT SLEEP(60) AS waited", "postgres": "SELECT pg_sleep(60) AS waited"}
BUSY = {
    "mysql": "SELECT count(*) FROM shop.events a, shop.events b, shop.events c",
    "postgres": "SELECT count(*) FROM public.events a, public.events b, public.events c",
}


@asynccontextmanager
async def connected(
    server: SqlServer, target: ConnectionTarget | None = None
) -> AsyncIterator[SourceConnection]:
    connection = await DRIVERS[server.kind].connect(target or server.target())
    try:
        yield connection
    finally:
        await connection.close()


async def until(server: SqlServer, count: int) -> None:
    """Wait until so many statements of the reader run on the server."""
    async with asyncio.timeout(60):
        while await asyncio.to_thread(server.running) != count:
            pass


def named(server: SqlServer, table: str) -> str:
    return f"{schema_of(server.kind)}.{table}"


@pytest.mark.parametrize("through", ["tcp", "socket"])
async def test_a_reader_connects_and_cannot_write(server: SqlServer, through: str):
    async with connected(server, server.target(through=through)) as connection:
        facts = await connection.facts()
    product = {"mysql": "MariaDB 10.", "postgres": "PostgreSQL 1"}[server.kind]
    assert facts.version.startswith(product)
    assert (facts.can_write, facts.tls) == (False, False)


@pytest.mark.parametrize(
    ("tls", "trusts", "connects"),
    [
        ("verify", True, True),
        ("verify", False, False),
        ("require", False, True),
    ],
)
async def test_tls_is_checked_as_far_as_it_is_asked_for(
    server: SqlServer, *, tls: Tls, trusts: bool, connects: bool
):
    server.require_tls()
    trusted = str(server.folder / "server.crt") if trusts else None
    address = replace(server.address(), tls=tls, tls_ca_file=trusted)
    target = ConnectionTarget("Shop", address, PASSWORD)
    if connects:
        async with connected(server, target) as connection:
            assert (await connection.facts()).tls is True
    else:
        with pytest.raises(ToolFailed, match="certificate is not accepted"):
            await DRIVERS[server.kind].connect(target)


async def test_a_certificate_for_another_name_is_refused(server: SqlServer):
    server.require_tls()
    address = replace(
        server.address(),
        host="localhost",
        tls="verify",
        tls_ca_file=str(server.folder / "server.crt"),
    )
    with pytest.raises(ToolFailed, match="certificate is not accepted"):
        await DRIVERS[server.kind].connect(ConnectionTarget("Shop", address, PASSWORD))


async def test_an_account_that_could_write_is_noticed_and_still_cannot(server: SqlServer):
    target = ConnectionTarget("Shop", server.address(user=WRITER), WRITER_PASSWORD)
    async with connected(server, target) as connection:
        assert (await connection.facts()).can_write is True
        insert = f"INSERT INTO {named(server, 'secrets')} VALUES ('a', 'b')"
        with pytest.raises(ToolFailed):
            await connection.run(insert, BOUNDS)
    async with connected(server, target) as connection:
        rows = await connection.run(f"SELECT name FROM {named(server, 'secrets')}", BOUNDS)
    assert rows.rows == [["launch code"]]


async def test_values_come_as_json(server: SqlServer):
    async with connected(server) as connection:
        sql = f"SELECT price, picture, details FROM {named(server, 'products')} ORDER BY sku DESC"
        products = await connection.run(sql, BOUNDS)
        column = '"placedAt"' if server.kind == "postgres" else "placedAt"
        sql = f"SELECT {column} FROM {named(server, 'orders')} ORDER BY 1"
        orders = await connection.run(sql, BOUNDS)
        assert connection.is_usable
    lamp, desk = products.rows
    json = {
        "mysql": '{"colour": "red", "sizes": [1, 2]}',
        "postgres": {"colour": "red", "sizes": [1, 2]},
    }
    assert lamp == ["20.50", "base64:AP8Q", json[server.kind]]
    assert desk == ["150.00", None, None]
    assert (orders.columns, orders.rows[0]) == (("placedAt",), ["2026-01-02T03:04:05"])


async def test_only_so_many_rows_of_a_million_are_read(server: SqlServer):
    async with connected(server) as connection:
        found = await connection.run(f"SELECT * FROM {named(server, 'events')}", BOUNDS)
    assert (len(found.rows), found.truncated) == (1000, True)
    await until(server, 0)


async def test_only_so_many_bytes_are_read(server: SqlServer):
    bounds = replace(BOUNDS, max_bytes=1000)
    async with connected(server) as connection:
        found = await connection.run(f"SELECT * FROM {named(server, 'events')}", bounds)
    assert found.truncated
    assert 0 < len(found.rows) < 100


async def test_a_result_that_ends_at_its_limit_leaves_the_connection_usable(server: SqlServer):
    async with connected(server) as connection:
        sql = f"SELECT id FROM {named(server, 'events')} LIMIT 1001"
        found = await connection.run(sql, BOUNDS)
        assert (len(found.rows), found.truncated, connection.is_usable) == (1000, True, True)
        again = await connection.run(f"SELECT count(*) FROM {named(server, 'orders')}", BOUNDS)
    assert again.rows == [[2]]


async def test_the_server_ends_what_takes_too_long(server: SqlServer):
    bounds = replace(BOUNDS, timeout_s=0.3, grace_s=30)
    async with connected(server) as connection:
        with pytest.raises(ToolFailed) as caught:
            await connection.run(BUSY[server.kind], bounds)
    assert code_of(caught.value) == "query_timeout"
    await until(server, 0)


async def test_what_the_server_does_not_end_we_end(server: SqlServer):
    bounds = replace(BOUNDS, timeout_s=60, grace_s=-59.5)
    async with connected(server) as connection:
        with pytest.raises(ToolFailed) as caught:
            await connection.run(BUSY[server.kind], bounds)
        assert not connection.is_usable
    assert code_of(caught.value) == "query_timeout"
    await until(server, 0)


async def test_cancelling_leaves_no_query_behind(server: SqlServer):
    bounds = replace(BOUNDS, timeout_s=60)
    async with connected(server) as connection:
        work = asyncio.create_task(connection.run(SLEEP[server.kind], bounds))
        await until(server, 1)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert not connection.is_usable
    await until(server, 0)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE {orders}",
        "DELETE FROM {orders}",
        "CREATE TABLE {made} (a INT)",
        "SELECT * FROM {orders} FOR UPDATE",
    ],
)
async def test_what_the_guard_would_refuse_does_no_harm_here_either(server: SqlServer, sql: str):
    """The guard is not asked: the connection itself holds."""
    text = sql.format(orders=named(server, "orders"), made=named(server, "made"))
    async with connected(server) as connection:
        with pytest.raises(ToolFailed):
            await connection.run(text, BOUNDS)
    assert server.ask(f"SELECT count(*) FROM {named(server, 'orders')}") == ["2"]


async def test_errors_about_the_statement_say_what_and_not_where(server: SqlServer):
    async with connected(server) as connection:
        with pytest.raises(ToolFailed) as caught:
            await connection.run(f"SELECT nothing FROM {named(server, 'orders')}", BOUNDS)
    assert code_of(caught.value) == "query_failed"
    assert "nothing" in caught.value.message


@pytest.mark.parametrize("wrong", ["password", "port", "database", "user", "tls"])
async def test_a_connection_that_fails_names_no_address(server: SqlServer, wrong: str):
    address, password = server.address(), PASSWORD
    if wrong == "password":
        password = "quite-another-one"
    elif wrong == "port":
        address = replace(address, port=free_port())
    elif wrong == "database":
        address = replace(address, database="no_such_base")
    elif wrong == "user":
        address = replace(address, user="no_such_user")
    else:
        address = replace(address, tls="verify")
    with pytest.raises(ToolFailed) as caught:
        await DRIVERS[server.kind].connect(ConnectionTarget("Shop", address, password))
    assert code_of(caught.value) == "source_unavailable"
    reported = f"{caught.value.message} {caught.value.details}"
    for secret in ("127.0.0.1", str(server.port), READER, "no_such_user", PASSWORD, password):
        assert secret not in reported
    assert caught.value.__suppress_context__


async def test_tables_tell_their_columns_keys_and_comments(server: SqlServer):
    schema = schema_of(server.kind)
    wanted = [TableName(schema, name) for name in ("customers", "orders", "orderItems", "none")]
    async with connected(server) as connection:
        tables = {item.table.name: item for item in await connection.tables(wanted, 10)}
        everything = await connection.tables(None, 1000)
    assert set(tables) == {"customers", "orders", "orderItems"}
    assert {item.table.name for item in everything} == set(TABLES)
    customers, orders = tables["customers"], tables["orders"]
    assert customers.comment == TABLE_COMMENT
    assert {item.name: item.comment for item in customers.columns if item.comment} == {
        "tenantId": COLUMN_COMMENT
    }
    assert customers.primary_key == ("customerId",)
    assert [item.columns for item in orders.indexes] == [("customerId",)]
    [key] = orders.foreign_keys
    assert (key.columns, key.table.name, key.referenced) == (
        ("customerId",),
        "customers",
        ("customerId",),
    )
    assert tables["orderItems"].primary_key == ("orderId", "line")


@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        (
            ["GRANT USAGE ON *.* TO `r`@`%`", "GRANT SELECT, SHOW VIEW ON `shop`.* TO `r`@`%`"],
            False,
        ),
        (["GRANT SELECT (`a`, `b`) ON `shop`.`t` TO `r`@`%`"], False),
        (["GRANT SELECT (`a`), UPDATE (`b`) ON `shop`.`t` TO `r`@`%`"], True),
        (["GRANT SELECT, INSERT ON `shop`.* TO `w`@`%`"], True),
        (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`"], True),
        (["GRANT FILE ON *.* TO `f`@`%`"], True),
        (["GRANT `boss` TO `r`@`%`"], True),
    ],
)
def test_rights_of_mysql_are_read(grants: list[str], *, expected: bool):
    assert may_write(grants) is expected


async def test_a_row_of_postgres_that_a_few_characters_make_huge_does_not_come(
    postgres_server: SqlServer,
):
    text = "'a'"
    for _ in range(8):
        text = f"REPLACE({text}, 'a', 'aaaaaaaaaa')"
    async with connected(postgres_server) as connection:
        with pytest.raises(ToolFailed, match="exceeds 8 MB") as refusal:
            await connection.run(f"SELECT {text} AS v", BOUNDS)
    assert code_of(refusal.value) == "query_failed"


async def test_rows_of_postgres_keep_their_order_names_and_types(postgres_server: SqlServer):
    sql = (
        "SELECT n AS row_, 'x' AS \"row_\", NULL, CAST('{\"b\": [1]}' AS jsonb) AS j"
        " FROM (SELECT 2 AS n UNION ALL SELECT 3 UNION ALL SELECT 1) AS q ORDER BY 1 DESC LIMIT 2"
    )
    async with connected(postgres_server) as connection:
        found = await connection.run(sql, BOUNDS)
    assert found.columns == ("row_", "row__2", "?column?", "j")
    assert found.rows == [[3, "x", None, {"b": [1]}], [2, "x", None, {"b": [1]}]]


async def test_json_that_is_too_long_to_read_stays_text(postgres_server: SqlServer):
    sql = (
        "SELECT CAST('[' || STRING_AGG('1234567', ',') || ']' AS jsonb) AS j FROM"
        " (SELECT 1 FROM public.events LIMIT 150000) AS q"
    )
    async with connected(postgres_server) as connection:
        found = await connection.run(sql, BOUNDS)
    assert str(found.rows[0][0]).startswith("[1234567")
    assert "(cut: " in found.rows[0][0]


@pytest.mark.parametrize(
    "greeting",
    [b"\n5.5.5-10.1\0" + b"\xff" * count for count in (0, 3, 13, 14, 20, 30)] + [b"", b"\n"],
    ids=len,
)
async def test_a_server_that_greets_with_nonsense_is_only_not_available(greeting: bytes):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(len(greeting).to_bytes(3, "little") + b"\0" + greeting)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        address = DatabaseAddress(host="127.0.0.1", port=port, user="u", tls="off")
        with pytest.raises(ToolFailed) as refusal:
            await DRIVERS["mysql"].connect(ConnectionTarget("Shop", address, PASSWORD))
    assert code_of(refusal.value) == "source_unavailable"
