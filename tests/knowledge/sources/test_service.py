"""The SQL tools through the whole gate, on real databases of every kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import ToolFailed
from app.execution.outcome import CallOutcome
from app.knowledge.sources.connection_manager import ConnectionManager
from app.knowledge.sources.model import EVERYBODY, AllowedTable, QueryLimits, Source, TableName
from app.knowledge.sources.schemas import Schemas
from app.knowledge.sources.store import SourceUpdate
from tests.execution.lab import Lab
from tests.knowledge.sources.shops import (
    AGENT,
    OTHER_AGENT,
    allowed,
    ask,
    on_file,
    on_server,
    schema_of,
)
from tests.support.sql_servers import PASSWORD, READER, SqlServer
from tests.support.sql_shop import COLUMN_COMMENT, TABLE_COMMENT

Make = Callable[..., Awaitable[Source]]
LONG = "SELECT count(*) FROM events a, events b, events c WHERE a.amount < b.amount"


@pytest.fixture(params=["mysql", "postgres", "sqlite"])
def make(request: pytest.FixtureRequest, lab: Lab, shop_file: Path) -> Make:
    """Makes a source of each kind in turn."""
    if request.param == "sqlite":
        return lambda **fields: on_file(lab, shop_file, **fields)
    name = {"mysql": "mariadb_server", "postgres": "postgres_server"}[request.param]
    server: SqlServer = request.getfixturevalue(name)
    return lambda **fields: on_server(lab, server, **fields)


async def queries(lab: Lab) -> list[dict[str, Any]]:
    """The audit of queries, oldest first."""
    names = "tool_name, agent_id, user_id, source_id, sql, tables, rows, ms, verdict, reason"
    rows = await lab.rows(f"SELECT {names} FROM query_audit ORDER BY seq")
    return [dict(zip(names.split(", "), row, strict=True)) for row in rows]


def good(outcome: CallOutcome) -> Any:
    assert outcome.result.error is None, outcome.result.error
    return outcome.result.data


def quoted(source: Source, column: str) -> str:
    return f'"{column}"' if source.kind == "postgres" else column


@pytest.mark.requirement("SQL-01")
async def test_an_agent_sees_its_sources_and_nothing_of_where_they_are(lab: Lab, make: Make):
    source = await make()
    await lab.runtime.sources.store.create(
        SourceUpdate(
            {"name": "Hidden", "kind": "mysql", "host": "h", "user": "u", "agents": ("x",)}
        ),
        actor="ann",
    )
    outcome = await ask(lab, "mysql_list_sources")
    assert good(outcome) == {
        "sources": [
            {
                "source_id": source.id,
                "name": source.name,
                "kind": source.kind,
                "tables": 5,
                "max_rows": 1000,
                "max_seconds": 15.0,
            }
        ],
        "total": 1,
    }
    assert "Hidden" not in str(outcome.result)


async def test_nobody_is_authorised_before_an_administrator_says_so(lab: Lab, make: Make):
    source = await make(agents=())
    for agent in (AGENT, None):
        assert good(await ask(lab, "mysql_list_sources", agent=agent))["total"] == 0
        outcome = await ask(
            lab, "mysql_query", agent=agent, source_id=source.id, sql="SELECT 1 AS a"
        )
        assert (outcome.success, outcome.result.code) == (False, "source_not_found")


async def test_two_agents_see_what_each_was_given(lab: Lab, make: Make):
    mine = await make(name="Mine")
    await lab.runtime.sources.store.change(
        mine.id, SourceUpdate({"tables": allowed(mine.kind, "orders")}), actor="ann"
    )
    theirs = await make(name="Theirs", agents=(OTHER_AGENT,), tables=allowed(mine.kind, "products"))
    for agent, source, other, table in (
        (AGENT, mine, theirs, "orders"),
        (OTHER_AGENT, theirs, mine, "products"),
    ):
        listed = good(await ask(lab, "sql_list_sources", agent=agent))
        assert [item["source_id"] for item in listed["sources"]] == [source.id]
        sql = f"SELECT count(*) AS n FROM {table}"
        found = await ask(lab, "sql_query", agent=agent, source_id=source.id, sql=sql)
        assert good(found)["rows"] == [[2]]
        refused = await ask(lab, "sql_query", agent=agent, source_id=other.id, sql=sql)
        assert refused.result.code == "source_not_found"


async def test_a_star_is_everybody_and_a_disabled_source_nobodys(lab: Lab, make: Make):
    source = await make(agents=(EVERYBODY,))
    sql = "SELECT count(*) AS n FROM orders"
    for agent in (None, OTHER_AGENT):
        found = await ask(lab, "mysql_query", agent=agent, source_id=source.name, sql=sql)
        assert good(found)["rows"] == [[2]]
    await lab.runtime.sources.store.change(source.id, SourceUpdate({"enabled": False}), actor="ann")
    refused = await ask(lab, "mysql_query", source_id=source.id, sql=sql)
    assert refused.result.code == "source_not_found"


@pytest.mark.requirement("SQL-02")
async def test_the_schema_tells_columns_keys_and_masks(lab: Lab, make: Make):
    source = await make()
    outcome = await ask(lab, "mysql_schema", source_id=source.id, tables=["CUSTOMERS", "orders"])
    customers, orders = good(outcome)["tables"]
    has_comments = source.kind != "sqlite"
    assert customers["comment"] == (TABLE_COMMENT if has_comments else "")
    columns = {column["name"]: column for column in customers["columns"]}
    assert {name for name, column in columns.items() if column["masked"]} == {"email", "phone"}
    assert columns["tenantId"]["comment"] == (COLUMN_COMMENT if has_comments else "")
    assert [name for name, item in columns.items() if TABLE_COMMENT in item["comment"]] == []
    assert customers["primary_key"] == ["customerId"]
    assert orders["indexes"][0]["columns"] == ["customerId"]
    assert orders["foreign_keys"] == [
        {
            "columns": ["customerId"],
            "references": f"{schema_of(source.kind)}.customers",
            "referenced_columns": ["customerId"],
        }
    ]
    assert "<untrusted" in str(outcome.result.text)


async def test_the_schema_shows_no_table_that_is_not_allowed(lab: Lab, make: Make):
    source = await make()
    tables = allowed(source.kind, "orders")
    await lab.runtime.sources.store.change(source.id, SourceUpdate({"tables": tables}), actor="ann")
    shown = good(await ask(lab, "mysql_schema", source_id=source.id))["tables"]
    assert [item["table"] for item in shown] == ["orders"]
    # Where its key leads is no secret of the key, but of the other table.
    assert shown[0]["foreign_keys"] == []
    refused = await ask(lab, "mysql_schema", source_id=source.id, tables=["customers"])
    assert refused.result.code == "unauthorised_table"


@pytest.mark.requirement("SQL-03")
async def test_a_sample_leaves_masked_columns_out(lab: Lab, make: Make):
    source = await make()
    found = good(await ask(lab, "mysql_table_sample", source_id=source.id, table="customers"))
    assert found["columns"] == ["customerId", "fullName", "tenantId"]
    assert found["row_count"] == 3
    some = await ask(
        lab,
        "sql_table_sample",
        source_id=source.id,
        table="Customers",
        columns=["tenantid"],
        limit=2,
    )
    assert (good(some)["columns"], good(some)["row_count"]) == (["tenantId"], 2)
    masked = await ask(
        lab, "mysql_table_sample", source_id=source.id, table="customers", columns=["Email"]
    )
    assert masked.result.code == "masked_column"


@pytest.mark.requirement("SQL-04")
async def test_a_join_within_the_allowed_tables_gives_its_rows(lab: Lab, make: Make):
    source = await make()
    sql = (
        f"SELECT c.{quoted(source, 'fullName')}, o.total FROM orders o JOIN customers c"
        f" ON c.{quoted(source, 'customerId')} = o.{quoted(source, 'customerId')}"
        " ORDER BY o.total DESC;"
    )
    outcome = await ask(lab, "mysql_query", source_id=source.id, sql=sql)
    data = good(outcome)
    assert data["columns"] == ["fullName", "total"]
    assert [row[0] for row in data["rows"]] == ["Grace Hopper", "Ada Lovelace"]
    assert (data["row_count"], data["truncated"]) == (2, False)
    assert data["elapsed_ms"] >= 0
    assert "customers" in data["sql_executed"]
    assert outcome.result.raw_result is not None
    assert outcome.result.raw_result.type == "table"
    assert "<untrusted" in str(outcome.result.text)


@pytest.mark.requirement("SQL-04", "SQL-05", "SQL-06")
@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM orders JOIN secrets ON 1 = 1", "unauthorised_table"),
        ("SELECT email FROM customers", "masked_column"),
        ("SELECT upper(email) AS e FROM customers", "masked_column"),
        ("SELECT e FROM (SELECT email AS e FROM customers) AS x", "masked_column"),
        ("SELECT count(*) AS n FROM customers WHERE email LIKE 'a%'", "masked_column"),
        ("SELECT 1 AS a; SELECT 2 AS b", "multiple_statements"),
        ("DELETE FROM orders", "not_select"),
    ],
)
async def test_what_the_guard_refuses_is_not_run_and_is_kept(
    lab: Lab, make: Make, sql: str, reason: str
):
    source = await make()
    outcome = await ask(lab, "mysql_query", source_id=source.id, sql=sql)
    assert (outcome.success, outcome.result.code) == (False, reason)
    [row] = await queries(lab)
    assert (row["verdict"], row["sql"], row["rows"]) == ("refused", sql, 0)
    assert row["reason"].startswith(f"{reason}: ")


async def test_everything_of_a_table_is_everything_that_is_not_masked(lab: Lab, make: Make):
    source = await make()
    outcome = await ask(lab, "mysql_query", source_id=source.id, sql="SELECT * FROM customers")
    reported = str(outcome.result)
    assert "@example.org" not in reported
    assert outcome.success is False or "email" not in outcome.result.data["columns"]


@pytest.mark.requirement("SQL-07")
async def test_only_so_many_rows_of_a_million_come_back(lab: Lab, make: Make):
    source = await make()
    sql = "SELECT * FROM events"
    for limit, expected in ((7, 7), (1000, 1000)):
        data = good(await ask(lab, "mysql_query", source_id=source.id, sql=sql, limit=limit))
        assert (data["row_count"], data["truncated"]) == (expected, True)
    await lab.runtime.sources.store.change(
        source.id, SourceUpdate({"limits": QueryLimits(max_rows=3, max_bytes=1000)}), actor="ann"
    )
    data = good(await ask(lab, "mysql_query", source_id=source.id, sql=sql, limit=1000))
    assert (data["row_count"], data["truncated"]) == (3, True)


@pytest.mark.requirement("SQL-08")
async def test_every_query_leaves_a_row_with_who_what_and_how(lab: Lab, make: Make):
    source = await make()
    sql = "SELECT count(*) AS n FROM orders"
    good(await ask(lab, "mysql_query", "c1", source_id=source.id, sql=sql))
    good(await ask(lab, "mysql_table_sample", "c2", source_id=source.id, table="orders"))
    await ask(lab, "mysql_query", "c3", source_id="src_none", sql=sql)
    asked, sampled, missed = await queries(lab)
    table = f"{schema_of(source.kind)}.orders"
    assert (asked["tool_name"], asked["agent_id"], asked["source_id"]) == (
        "mysql_query",
        AGENT,
        source.id,
    )
    assert (asked["sql"], json.loads(asked["tables"]), asked["rows"]) == (sql, [table], 1)
    assert (asked["verdict"], asked["reason"]) == ("allowed", None)
    assert asked["ms"] > 0
    assert (sampled["rows"], sampled["sql"].startswith("SELECT")) == (2, True)
    assert (missed["verdict"], missed["source_id"]) == ("refused", "src_none")
    await lab.runtime.db.flush()
    house = await lab.rows("SELECT verdict, outcome FROM audit WHERE kind = 'sql.query'")
    assert house == [("allow", "success"), ("allow", "success"), ("deny", "error")]


async def test_a_query_that_takes_too_long_is_stopped_and_kept(lab: Lab, make: Make):
    source = await make(limits=QueryLimits(statement_s=0.3))
    outcome = await ask(lab, "mysql_query", source_id=source.id, sql=LONG, timeout=60)
    assert outcome.result.code == "query_timeout"
    [row] = await queries(lab)
    assert (row["verdict"], row["reason"].split(":")[0]) == ("allowed", "query_timeout")


async def test_a_cancelled_call_leaves_no_query_on_the_server(lab: Lab, server: SqlServer):
    source = await on_server(lab, server)
    # Reading the tables is over, so that what runs next is the query.
    good(await ask(lab, "mysql_schema", "c0", source_id=source.id))
    call = asyncio.create_task(ask(lab, "mysql_query", source_id=source.id, sql=LONG, timeout=60))
    async with asyncio.timeout(60):
        while await asyncio.to_thread(server.running) == 0:
            pass
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        while await asyncio.to_thread(server.running):
            pass
    [row] = await queries(lab)
    assert (row["verdict"], row["reason"]) == ("allowed", "cancelled")


async def test_a_broken_connection_is_replaced(lab: Lab, server: SqlServer):
    source = await on_server(lab, server)
    sql = "SELECT count(*) AS n FROM orders"
    good(await ask(lab, "mysql_query", "c1", source_id=source.id, sql=sql))
    if server.kind == "mysql":
        for thread in server.ask(
            f"SELECT id FROM information_schema.processlist WHERE user = '{READER}'"
        ):
            server.ask(f"KILL {thread}")
    else:
        server.ask(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{READER}'"
        )
    again = await ask(lab, "mysql_query", "c2", source_id=source.id, sql=sql + " ")
    assert good(again)["rows"] == [[2]]


async def test_a_table_whose_mask_has_no_column_cannot_be_read(lab: Lab, make: Make):
    source = await make()
    tables = (AllowedTable(TableName(schema_of(source.kind), "customers"), ("eMailAddress",)),)
    await lab.runtime.sources.store.change(source.id, SourceUpdate({"tables": tables}), actor="ann")
    sql = f"SELECT {quoted(source, 'fullName')} FROM customers"
    outcome = await ask(lab, "mysql_query", source_id=source.id, sql=sql)
    assert outcome.result.code == "unauthorised_table"
    tested = await lab.runtime.sources.inspection.test(source.id)
    assert any(
        "customers.eMailAddress matches no column" in one.sentence for one in tested.warnings
    )


async def test_what_agents_and_logs_get_names_no_host_user_or_password(
    lab: Lab, server: SqlServer, caplog: pytest.LogCaptureFixture
):
    source = await on_server(lab, server)
    reported = [
        await ask(lab, name, f"c{number}", **arguments)
        for number, (name, arguments) in enumerate(
            [
                ("mysql_list_sources", {}),
                ("mysql_schema", {"source_id": source.id}),
                ("mysql_table_sample", {"source_id": source.id, "table": "orders"}),
                ("mysql_query", {"source_id": source.id, "sql": "SELECT nothing FROM orders"}),
                ("mysql_query", {"source_id": source.id, "sql": "SELECT 1/0 AS a FROM orders"}),
            ]
        )
    ]
    change = SourceUpdate({"port": 1}, "quite-another-pass-1")
    await lab.runtime.sources.store.change(source.id, change, actor="ann")
    sql = "SELECT total FROM orders"
    broken = await ask(lab, "mysql_query", "c9", source_id=source.id, sql=sql)
    assert broken.result.code == "source_unavailable"
    shown = "".join(
        [
            *(str(outcome.result) for outcome in [*reported, broken]),
            *(json.dumps(event) for event in lab.watcher.events),
            *(repr(row) for row in await lab.rows("SELECT * FROM tool_calls")),
            *(repr(row) for row in await lab.rows("SELECT * FROM query_audit")),
            caplog.text,
        ]
    )
    for secret in (READER, PASSWORD, "quite-another-pass-1", "127.0.0.1", str(server.port)):
        assert secret not in shown


async def test_a_password_is_masked_wherever_it_would_stand(lab: Lab, mariadb_server: SqlServer):
    source = await on_server(lab, mariadb_server)
    sql = f"SELECT '{PASSWORD}' AS leaked FROM orders"
    await ask(lab, "mysql_query", "c1", source_id=source.id, sql="SELECT total FROM orders")
    outcome = await ask(lab, "mysql_query", "c2", source_id=source.id, sql=sql)
    kept = await queries(lab)
    assert PASSWORD not in f"{outcome.result}{kept}{lab.watcher.events}"


async def test_nothing_stays_open_to_a_source_that_was_forgotten(lab: Lab, server: SqlServer):
    source = await on_server(lab, server)
    sql = "SELECT count(*) AS n FROM orders"
    good(await ask(lab, "mysql_query", source_id=source.id, sql=sql))
    assert await asyncio.to_thread(server.connections) == 1
    await lab.runtime.sources.store.remove(source.id, actor="ann")
    async with asyncio.timeout(60):
        while await asyncio.to_thread(server.connections):
            pass


async def test_a_call_that_began_before_a_change_does_not_read_after_it(lab: Lab, make: Make):
    source = await make()
    runtime, store = lab.runtime, lab.runtime.sources.store
    links = ConnectionManager(
        store, runtime.settings.sources, runtime.clock, runtime.redactor, hidden=()
    )
    assert (await links.use(source, lambda connection: connection.facts())).can_write is False
    after = await store.change(source.id, SourceUpdate({"agents": ()}), actor="ann")
    with pytest.raises(ToolFailed, match="was changed; try again"):
        await links.use(source, lambda connection: connection.facts())
    assert (await links.use(after, lambda connection: connection.facts())).can_write is False
    await links.close()


async def test_all_four_run_in_the_main_process(lab: Lab, mariadb_server: SqlServer):
    source = await on_server(lab, mariadb_server)
    resolved = lab.runtime.resolver.resolve(AGENT)
    names = ("mysql_list_sources", "mysql_schema", "mysql_table_sample", "mysql_query")
    assert {resolved.routes[name] for name in names} == {"main-process-proxy"}
    tools = lab.runtime.registry.snapshot().tools
    # All that a worker gets of them: nothing in it can reach a database.
    manifest = json.dumps([tools[name].manifest() for name in names])
    assert str(source.id) not in manifest
    assert PASSWORD not in manifest
    assert READER not in manifest


async def test_a_failure_that_nobody_has_foreseen_is_no_success_in_the_audit(
    lab: Lab, make: Make, monkeypatch: pytest.MonkeyPatch
):
    async def broken(*_: object) -> None:
        raise IndexError

    source = await make()
    monkeypatch.setattr(Schemas, "of", broken)
    outcome = await ask(lab, "mysql_query", source_id=source.id, sql="SELECT 1 AS a")
    assert not outcome.success
    [row] = await queries(lab)
    assert row["reason"] == "internal"


async def test_a_reason_quotes_nothing_where_no_arguments_are_kept(
    lab: Lab, make: Make, monkeypatch: pytest.MonkeyPatch
):
    source = await make()
    monkeypatch.setattr(lab.runtime.audit, "level", "shape")
    await ask(lab, "mysql_query", source_id=source.id, sql="SELECT o.hidden_word FROM orders AS o")
    [row] = await queries(lab)
    assert (row["sql"], row["reason"]) == ("", "unknown_column")
    house = await lab.rows("SELECT detail FROM audit WHERE kind = 'sql.query'")
    assert "hidden_word" not in str(house)


@pytest.mark.requirement("SQL-04", "SQL-06")
async def test_a_primary_key_in_group_by_covers_a_table_with_masked_columns(lab: Lab, make: Make):
    source = await make()
    key, name = quoted(source, "customerId"), quoted(source, "fullName")
    sql = (
        f"SELECT c.{name}, COUNT(*) AS n FROM customers c JOIN orders o ON o.{key} = c.{key}"
        f" GROUP BY c.{key} ORDER BY c.{name}"
    )
    answer = good(await ask(lab, "mysql_query", source_id=source.id, sql=sql))
    assert answer["rows"] == [["Ada Lovelace", 1], ["Grace Hopper", 1]]
    hidden = sql.replace(f"c.{name}, COUNT(*)", "c.email, COUNT(*)")
    refused = await ask(lab, "mysql_query", "c2", source_id=source.id, sql=hidden)
    assert refused.result.code == "masked_column"
