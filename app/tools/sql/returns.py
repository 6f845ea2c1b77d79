"""Result schemas of the database tools."""

from __future__ import annotations

from app.toolkit.returns import ANYTHING, FLAG, INTEGER, NUMBER, TEXT, listed, maybe, record

_SOURCE = record(
    source_id=TEXT,
    name=TEXT,
    kind=TEXT,
    tables=maybe(INTEGER),
    max_rows=INTEGER,
    max_seconds=NUMBER,
)
MYSQL_LIST_SOURCES_RESULT = record(sources=listed(_SOURCE), total=INTEGER)
_COLUMN = record({"comment": maybe(TEXT)}, name=TEXT, type=TEXT, nullable=FLAG, masked=FLAG)
_TABLE = record(
    {
        "schema": maybe(TEXT),
        "kind": TEXT,
        "comment": maybe(TEXT),
        "primary_key": listed(TEXT),
        "indexes": listed(record(name=TEXT, columns=listed(maybe(TEXT)), unique=FLAG)),
        "foreign_keys": listed(
            record(columns=listed(TEXT), references=TEXT, referenced_columns=listed(TEXT))
        ),
    },
    table=TEXT,
    columns=listed(_COLUMN),
)
MYSQL_SCHEMA_RESULT = record(source_id=TEXT, tables=listed(_TABLE), total=INTEGER)
ROWS_RESULT = record(
    columns=listed(TEXT),
    rows=listed(listed(ANYTHING)),
    row_count=INTEGER,
    truncated=FLAG,
    elapsed_ms=NUMBER,
    sql_executed=TEXT,
)
