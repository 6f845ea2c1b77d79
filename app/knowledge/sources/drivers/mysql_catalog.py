"""Tables of MySQL and MariaDB.

`TABLES` and `COLUMNS` of the information schema are read separately: joined, a table's comment
would repeat for each of its columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from app.knowledge.sources.drivers.protocol import (
    ColumnFacts,
    ForeignKeyFacts,
    IndexFacts,
    TableFacts,
)
from app.knowledge.sources.model import TableName

Fetch = Callable[[str, Sequence[Any]], Awaitable[list[tuple[Any, ...]]]]

_SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")
_TABLES = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES"
    " WHERE {where} ORDER BY TABLE_SCHEMA, TABLE_NAME LIMIT {limit}"
)
_COLUMNS = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_COMMENT"
    " FROM information_schema.COLUMNS WHERE {where}"
    " ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
)
_INDEXES = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, NON_UNIQUE"
    " FROM information_schema.STATISTICS WHERE {where}"
    " ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
)
_KEYS = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA,"
    " REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE"
    " WHERE {where} AND REFERENCED_TABLE_NAME IS NOT NULL"
    " ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"
)


async def read_tables(
    fetch: Fetch, wanted: Sequence[TableName] | None, limit: int
) -> list[TableFacts]:
    """Return the given tables, or all except the server's own, by name."""
    if wanted is not None and not wanted:
        return []
    where, values = _where(wanted)
    # Names are searched in every requested schema, and matched afterwards.
    most = limit if wanted is None else len(wanted) ** 2
    listed = [
        row
        for row in await fetch(_TABLES.format(where=where, limit=int(most)), values)
        if wanted is None or TableName(row[0], row[1]) in wanted
    ]
    columns = await _by_table(fetch, _COLUMNS, where, values)
    indexes = await _by_table(fetch, _INDEXES, where, values)
    keys = await _by_table(fetch, _KEYS, where, values)
    found = []
    for schema, name, kind, comment in listed:
        table = TableName(schema, name)
        is_view = "VIEW" in str(kind).upper()
        all_indexes = _indexes(indexes[table])
        found.append(
            TableFacts(
                table,
                "view" if is_view else "table",
                # The comment of every view is the word VIEW.
                "" if is_view else str(comment or ""),
                tuple(
                    ColumnFacts(row[2], _text(row[3]), row[4] == "YES", _text(row[5]))
                    for row in columns[table]
                ),
                next((item.columns for item in all_indexes if item.name == "PRIMARY"), ()),
                tuple(item for item in all_indexes if item.name != "PRIMARY"),
                _foreign_keys(keys[table]),
            )
        )
    return found


def _where(wanted: Sequence[TableName] | None) -> tuple[str, list[str]]:
    if wanted is None:
        return f"TABLE_SCHEMA NOT IN ({_marks(_SYSTEM)})", list(_SYSTEM)
    schemas = sorted({table.schema for table in wanted})
    names = sorted({table.name for table in wanted})
    where = f"TABLE_SCHEMA IN ({_marks(schemas)}) AND TABLE_NAME IN ({_marks(names)})"
    return where, [*schemas, *names]


def _marks(values: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(values))


async def _by_table(
    fetch: Fetch, query: str, where: str, values: Sequence[str]
) -> defaultdict[TableName, list[tuple[Any, ...]]]:
    rows: defaultdict[TableName, list[tuple[Any, ...]]] = defaultdict(list)
    for row in await fetch(query.format(where=where), values):
        rows[TableName(row[0], row[1])].append(row)
    return rows


def _indexes(rows: Sequence[tuple[Any, ...]]) -> list[IndexFacts]:
    columns: dict[str, list[str]] = {}
    unique: dict[str, bool] = {}
    for _, _, name, column, non_unique in rows:
        # An index part over an expression has no column.
        columns.setdefault(name, []).append(str(column or "(expression)"))
        unique[name] = not int(non_unique)
    return [IndexFacts(name, tuple(listed), unique[name]) for name, listed in columns.items()]


def _foreign_keys(rows: Sequence[tuple[Any, ...]]) -> tuple[ForeignKeyFacts, ...]:
    keys: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        keys.setdefault(row[2], []).append(row)
    return tuple(
        ForeignKeyFacts(
            tuple(part[3] for part in parts),
            TableName(parts[0][4], parts[0][5]),
            tuple(part[6] for part in parts),
        )
        for parts in keys.values()
    )


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
