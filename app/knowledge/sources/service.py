"""Agents' access to data sources: describe, sample, query.

Every query takes the same steps: permission to read the source, the guard, the limits, and in any
case one row in the query audit.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from app.core.clock import Clock
from app.core.errors import ToolFailed
from app.domain.data_sources import QueryCaller, QueryRows, SourceSummary
from app.knowledge.sources.connection_manager import ConnectionManager
from app.knowledge.sources.drivers.protocol import Readable, Rows, SourceConnection, StatementLimits
from app.knowledge.sources.drivers.shielded import surely
from app.knowledge.sources.guard.check import check, sample
from app.knowledge.sources.guard.model import Guarded, TableAccess
from app.knowledge.sources.model import Source
from app.knowledge.sources.query_audit import QueryAudit, QueryRecord
from app.knowledge.sources.schemas import ReadableTable, Schemas, SourceSchema, described
from app.knowledge.sources.store import SourceStore


class SourceService:
    """Service `DATA_SOURCES`."""

    def __init__(
        self,
        store: SourceStore,
        links: ConnectionManager,
        schemas: Schemas,
        audit: QueryAudit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._links = links
        self._schemas = schemas
        self._audit = audit
        self._clock = clock

    def visible(self, agent_id: str | None) -> Sequence[SourceSummary]:
        """See `DataSources.visible`."""
        return [
            SourceSummary(
                source.id,
                source.name,
                source.kind,
                len(source.tables),
                source.limits.max_rows,
                source.limits.statement_s,
            )
            for source in self._store.list_all()
            if source.is_open_to(agent_id)
        ]

    async def describe(
        self, caller: QueryCaller, source_id: str, tables: Sequence[str] | None
    ) -> list[dict[str, Any]]:
        """See `DataSources.describe`."""
        schema = await self._schemas.of(self._find(caller, source_id))
        chosen = (
            schema.tables
            if tables is None
            else list(dict.fromkeys(_table(schema, name) for name in tables))
        )
        return [described(schema, table) for table in chosen]

    async def sample(
        self,
        caller: QueryCaller,
        source_id: str,
        table: str,
        columns: Sequence[str] | None,
        limit: int,
    ) -> QueryRows:
        """See `DataSources.sample`."""
        asked = QueryRecord(source_id, f"sample of {table}")
        async with self._audited(caller, asked):
            source = self._find(caller, source_id)
            asked.source_id = source.id

            def judge(access: TableAccess) -> Guarded:
                made = sample(access, table, columns, min(limit, source.limits.max_rows))
                asked.sql = made.sql
                return made

            return await self._run(source, asked, judge, source.limits.statement_s)

    async def query(
        self, caller: QueryCaller, source_id: str, sql: str, *, limit: int, timeout_s: float
    ) -> QueryRows:
        """See `DataSources.query`."""
        asked = QueryRecord(source_id, sql)
        async with self._audited(caller, asked):
            source = self._find(caller, source_id)
            asked.source_id = source.id

            def judge(access: TableAccess) -> Guarded:
                return check(sql, access, min(limit, source.limits.max_rows))

            return await self._run(source, asked, judge, timeout_s)

    async def close(self) -> None:
        """Close all connections."""
        await self._links.close()

    def _find(self, caller: QueryCaller, source_id: str) -> Source:
        """Return a source that this agent may read, by ID or name."""
        for source in self._store.list_all():
            if source_id in (source.id, source.name) and source.is_open_to(caller.agent_id):
                return source
        raise ToolFailed(
            f"Data source {source_id!r} not found; use mysql_list_sources to list your "
            "data sources",
            code="source_not_found",
        )

    @asynccontextmanager
    async def _audited(self, caller: QueryCaller, asked: QueryRecord) -> AsyncIterator[None]:
        """Record a query's result, however it ends."""
        started = self._clock.monotonic()
        try:
            yield
            asked.reason = None
        except ToolFailed as error:
            asked.reason = f"{error.details.get('code', error.code)}: {error.message}"
            raise
        except asyncio.CancelledError:
            asked.reason = "cancelled"
            raise
        finally:
            asked.ms = (self._clock.monotonic() - started) * 1000
            await surely(self._audit.write(caller, asked))

    async def _run(
        self,
        source: Source,
        asked: QueryRecord,
        judge: Callable[[TableAccess], Guarded],
        timeout_s: float,
    ) -> QueryRows:
        schema = await self._schemas.of(source)
        # The longest statements take a second, which must not block others.
        guarded = await asyncio.to_thread(judge, schema.access)
        asked.verdict, asked.tables = "allowed", guarded.tables
        limits = source.limits
        bounds = StatementLimits(
            guarded.limit,
            limits.max_bytes,
            min(timeout_s, limits.statement_s),
            readable=_readable(schema),
        )
        started = self._clock.monotonic()
        rows = await self._links.use(source, _statement(guarded.sql, bounds))
        elapsed = (self._clock.monotonic() - started) * 1000
        asked.rows = len(rows.rows)
        return QueryRows(
            source.name, rows.columns, rows.rows, rows.truncated, round(elapsed, 3), guarded.sql
        )


def _statement(sql: str, bounds: StatementLimits) -> Callable[[SourceConnection], Awaitable[Rows]]:
    async def run(connection: SourceConnection) -> Rows:
        return await connection.run(sql, bounds)

    return run


def _table(schema: SourceSchema, name: str) -> ReadableTable:
    """Return a readable table by `table` or `schema.table`, in any case."""
    place, _, table = name.rpartition(".")
    found = schema.access.find(table, place or None)
    if found is None:
        raise ToolFailed(
            f"Table {name!r} not found; use mysql_schema without tables to list your tables",
            code="unauthorised_table",
        )
    return next(
        item
        for item in schema.tables
        if (item.facts.table.schema, item.facts.table.name) == (found.schema, found.name)
    )


def _readable(schema: SourceSchema) -> tuple[Readable, ...] | None:
    """Return the tables for a driver that enforces access as well; None for views, which only
    the file knows.
    """
    if any(item.facts.kind == "view" for item in schema.tables):
        return None
    return tuple(
        Readable(
            item.facts.table,
            frozenset(
                column.name for column in item.facts.columns if not item.is_masked(column.name)
            ),
        )
        for item in schema.tables
    )
