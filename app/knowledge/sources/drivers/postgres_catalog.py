"""Tables and rights in PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from app.knowledge.sources.drivers.protocol import (
    ColumnFacts,
    ForeignKeyFacts,
    IndexFacts,
    ServerFacts,
    TableFacts,
)
from app.knowledge.sources.model import TableName

Fetch = Callable[[str, Sequence[Any] | None], Awaitable[list[tuple[Any, ...]]]]

_OWN = "n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%%'"
_NAMED = "n.nspname = ANY(%s) AND c.relname = ANY(%s)"
_TABLES = (
    "SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text,"
    " coalesce(obj_description(c.oid, 'pg_class'), '')"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {where}"
    " ORDER BY n.nspname, c.relname LIMIT {limit}"
)
_COLUMNS = (
    "SELECT attrelid::bigint, attname, format_type(atttypid, atttypmod), NOT attnotnull,"
    " coalesce(col_description(attrelid, attnum), '') FROM pg_attribute"
    " WHERE attrelid = ANY(%s::oid[]) AND attnum > 0 AND NOT attisdropped"
    " ORDER BY attrelid, attnum"
)
_INDEXES = (
    "SELECT i.indrelid::bigint, c.relname, i.indisprimary, i.indisunique,"
    " array(SELECT coalesce(a.attname, '(expression)') FROM unnest(i.indkey::int[])"
    " WITH ORDINALITY AS k(number, place) LEFT JOIN pg_attribute a"
    " ON a.attrelid = i.indrelid AND a.attnum = k.number AND k.number > 0"
    " WHERE k.place <= i.indnkeyatts ORDER BY k.place)"
    " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " WHERE i.indrelid = ANY(%s::oid[]) ORDER BY c.relname"
)
_KEYS = (
    "SELECT k.conrelid::bigint, n.nspname, c.relname,"
    " array(SELECT a.attname FROM unnest(k.conkey) WITH ORDINALITY AS u(number, place)"
    " JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number ORDER BY u.place),"
    " array(SELECT a.attname FROM unnest(k.confkey) WITH ORDINALITY AS u(number, place)"
    " JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.number ORDER BY u.place)"
    " FROM pg_constraint k"
    " JOIN pg_class c ON c.oid = k.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE k.contype = 'f' AND k.conrelid = ANY(%s::oid[]) ORDER BY k.conname"
)
_MAY_WRITE = (
    "SELECT (SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles"
    " WHERE rolname = current_user)"
    " OR has_database_privilege(current_database(), 'CREATE')"
    " OR EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname NOT LIKE 'pg\\_%'"
    " AND has_schema_privilege(n.oid, 'CREATE'))"
    " OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname NOT LIKE 'pg\\_%'"
    " AND n.nspname <> 'information_schema'"
    " AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))"
)


async def read_tables(
    fetch: Fetch, wanted: Sequence[TableName] | None, limit: int
) -> list[TableFacts]:
    """Return the given tables, or all except the server's own, by name."""
    where, values, most = _OWN, list[list[str]](), limit
    if wanted is not None:
        # Names are searched in every requested schema, and matched afterwards.
        most = len(wanted) ** 2
        where = _NAMED
        values = [sorted({t.schema for t in wanted}), sorted({t.name for t in wanted})]
    query = _TABLES.format(where=where, limit=int(most))
    listed = [
        row
        for row in await fetch(query, values)
        if wanted is None or TableName(row[1], row[2]) in wanted
    ]
    ids = [[row[0] for row in listed]]
    columns = _by_table(await fetch(_COLUMNS, ids))
    indexes = _by_table(await fetch(_INDEXES, ids))
    keys = _by_table(await fetch(_KEYS, ids))
    return [
        TableFacts(
            TableName(schema, name),
            "view" if kind in ("v", "m") else "table",
            comment,
            tuple(ColumnFacts(*row[1:]) for row in columns[oid]),
            next((tuple(row[4]) for row in indexes[oid] if row[2]), ()),
            tuple(IndexFacts(row[1], tuple(row[4]), row[3]) for row in indexes[oid] if not row[2]),
            tuple(
                ForeignKeyFacts(tuple(row[3]), TableName(row[1], row[2]), tuple(row[4]))
                for row in keys[oid]
            ),
        )
        for oid, schema, name, kind, comment in listed
    ]


async def read_facts(fetch: Fetch, *, tls: bool) -> ServerFacts:
    """Return the server's version, and whether we could write without the read-only transaction."""
    [(version,)] = await fetch("SHOW server_version", None)
    [(may_write,)] = await fetch(_MAY_WRITE, None)
    return ServerFacts(f"PostgreSQL {str(version).split()[0]}", bool(may_write), tls)


def _by_table(rows: Sequence[tuple[Any, ...]]) -> defaultdict[int, list[tuple[Any, ...]]]:
    found: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)
    return found
