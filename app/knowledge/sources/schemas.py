"""Schemas of a source's allowed tables, cached for a while."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.clock import Clock
from app.knowledge.sources.connection_manager import ConnectionManager
from app.knowledge.sources.drivers.protocol import SourceConnection, TableFacts
from app.knowledge.sources.guard.model import Column, TableAccess, TableSchema
from app.knowledge.sources.model import AllowedTable, Source

KEPT_S = 300.0
_DEFAULT_SCHEMA = {"postgres": "public", "sqlite": "main"}


@dataclass(frozen=True, slots=True)
class ReadableTable:
    """Allowed table that exists, and whose masks all match."""

    facts: TableFacts
    masked: frozenset[str]

    def is_masked(self, column: str) -> bool:
        return column.lower() in self.masked


@dataclass(frozen=True, slots=True)
class SourceSchema:
    """Readable tables of a source.

    Attributes:
        missing: allowed tables that do not exist, as `schema.table`.
        unfit: masks without a column, as `schema.table.column`. Such a table is not readable: the
            column may have been renamed, and would be visible under its new name.
    """

    tables: tuple[ReadableTable, ...]
    access: TableAccess
    missing: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()


class Schemas:
    """Cache of schemas by source, invalidated by changes and after `KEPT_S` seconds."""

    def __init__(self, links: ConnectionManager, clock: Clock) -> None:
        self._links = links
        self._clock = clock
        self._known: dict[str, tuple[Source, float, SourceSchema]] = {}
        self._reading: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, source: Source, *, refresh: bool = False) -> SourceSchema:
        """Return the schema of a source.

        Raises:
            ToolFailed: the database is unavailable.
        """
        if not refresh and (known := self._fresh(source)) is not None:
            return known
        async with self._reading[source.id]:
            if not refresh and (known := self._fresh(source)) is not None:
                return known
            wanted = [item.table for item in source.tables]

            async def read(connection: SourceConnection) -> list[TableFacts]:
                return await connection.tables(wanted, len(wanted))

            schema = schema_of(source, await self._links.use(source, read))
            self._known[source.id] = (source, self._clock.monotonic(), schema)
            return schema

    def _fresh(self, source: Source) -> SourceSchema | None:
        known = self._known.get(source.id)
        if known is None or known[0] != source:
            return None
        return known[2] if self._clock.monotonic() - known[1] < KEPT_S else None


def schema_of(source: Source, facts: Sequence[TableFacts]) -> SourceSchema:
    """Return the readable tables among those of the database."""
    there = {item.table: item for item in facts}
    tables, missing, unfit = [], [], []
    for allowed in source.tables:
        found = there.get(allowed.table)
        if found is None:
            missing.append(str(allowed.table))
            continue
        columns = {column.name.lower() for column in found.columns}
        wrong = [name for name in allowed.masked if name.lower() not in columns]
        unfit += [f"{allowed.table}.{name}" for name in wrong]
        if not wrong:
            tables.append(ReadableTable(found, _folded(allowed)))
    access = TableAccess(source.kind, _default_schema(source), tuple(map(_guarded, tables)))
    return SourceSchema(tuple(tables), access, tuple(missing), tuple(unfit))


def described(schema: SourceSchema, table: ReadableTable) -> dict[str, Any]:
    """Return a table for the model; keys to unreadable tables are omitted."""
    facts = table.facts
    readable = {item.facts.table for item in schema.tables}
    return {
        "schema": facts.table.schema,
        "table": facts.table.name,
        "kind": facts.kind,
        "comment": facts.comment,
        "columns": [
            {
                "name": column.name,
                "type": column.type,
                "nullable": column.nullable,
                "comment": column.comment,
                "masked": table.is_masked(column.name),
            }
            for column in facts.columns
        ],
        "primary_key": list(facts.primary_key),
        "indexes": [
            {"name": index.name, "columns": list(index.columns), "unique": index.unique}
            for index in facts.indexes
        ],
        "foreign_keys": [
            {
                "columns": list(key.columns),
                "references": str(key.table),
                "referenced_columns": list(key.referenced),
            }
            for key in facts.foreign_keys
            if key.table in readable
        ],
    }


def _folded(allowed: AllowedTable) -> frozenset[str]:
    return frozenset(column.lower() for column in allowed.masked)


def _guarded(table: ReadableTable) -> TableSchema:
    columns = tuple(
        Column(column.name, table.is_masked(column.name)) for column in table.facts.columns
    )
    named = table.facts.table
    return TableSchema(named.schema, named.name, columns, tuple(table.facts.primary_key))


def _default_schema(source: Source) -> str:
    """Return the schema of tables without one: the only one there is, or the default."""
    schemas = {item.table.schema for item in source.tables}
    if len(schemas) == 1:
        return schemas.pop()
    return _DEFAULT_SCHEMA.get(source.kind) or source.address.database or ""
