"""Tables of a SQLite file, which has no comments."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from app.knowledge.sources.drivers.protocol import (
    ColumnFacts,
    ForeignKeyFacts,
    IndexFacts,
    TableFacts,
)
from app.knowledge.sources.model import TableName

SCHEMA = "main"
_TABLES = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
    " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
)
_COLUMNS = 'SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?)'
_INDEXES = 'SELECT name, "unique", origin FROM pragma_index_list(?) ORDER BY name'
_PARTS = "SELECT name FROM pragma_index_info(?) ORDER BY seqno"
_KEYS = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq'
# Column hidden by a virtual table.
_HIDDEN = 1


def read_tables(
    raw: sqlite3.Connection, wanted: Sequence[TableName] | None, limit: int
) -> list[TableFacts]:
    """Return the given tables, or all, by name."""
    found = []
    listed = [(TableName(SCHEMA, name), kind) for name, kind in raw.execute(_TABLES)]
    chosen = [item for item in listed if wanted is None or item[0] in wanted]
    for table, kind in chosen[:limit]:
        name = table.name
        columns = [row for row in raw.execute(_COLUMNS, (name,)) if row[4] != _HIDDEN]
        keyed = sorted((row[3], row[0]) for row in columns if row[3])
        found.append(
            TableFacts(
                table,
                kind,
                "",
                tuple(ColumnFacts(row[0], row[1], not row[2] and not row[3]) for row in columns),
                tuple(column for _, column in keyed),
                tuple(_indexes(raw, name)),
                tuple(_foreign_keys(raw, name)),
            )
        )
    return found


def _indexes(raw: sqlite3.Connection, table: str) -> list[IndexFacts]:
    return [
        IndexFacts(name, _parts(raw, name), bool(unique))
        for name, unique, origin in raw.execute(_INDEXES, (table,)).fetchall()
        if origin != "pk"
    ]


def _parts(raw: sqlite3.Connection, index: str) -> tuple[str, ...]:
    return tuple(row[0] or "(expression)" for row in raw.execute(_PARTS, (index,)))


def _foreign_keys(raw: sqlite3.Connection, table: str) -> list[ForeignKeyFacts]:
    keys: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, *rest in raw.execute(_KEYS, (table,)):
        keys.setdefault(number, []).append((rest[0], rest[1], rest[2]))
    return [
        ForeignKeyFacts(
            tuple(part[1] for part in parts),
            TableName(SCHEMA, parts[0][0]),
            # If omitted, it is the primary key of the other table.
            tuple(part[2] for part in parts if part[2] is not None),
        )
        for parts in keys.values()
    ]
