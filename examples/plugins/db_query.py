"""A plugin in three steps: write a function, decorate it, put the file into the plugin folder.

`DB_QUERY_DIR` names a folder with one SQLite file per project, `<project_id>.db`; without
it every project sees a small sample. The caller's project decides which file is opened,
and the model cannot choose another one.

>>> db_query({"sql": "SELECT item, price FROM orders ORDER BY price", "project_id": "demo"})
{'success': True, 'rows': [{'item': 'lamp', 'price': 20}, {'item': 'desk', 'price': 150}]}
>>> db_query({"sql": "DELETE FROM orders", "project_id": "demo"})
{'success': False, 'error': 'Only SELECT queries allowed'}
"""
# ruff: noqa: INP001 - a plugin folder is not a package

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from app.catalog.seed_api import tool
from app.toolkit.tool import PermissionClass, SideEffectScope

MAX_ROWS = 200
MAX_VALUE_BYTES = 100_000
MAX_STEPS = 5_000_000
_STEPS_PER_CHECK = 10_000
_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


@tool(
    name="db_query",
    description=(
        "Run one read-only SELECT on the project's SQLite database. "
        f"Returns at most {MAX_ROWS} rows, each an object keyed by column."
    ),
    parameters={
        "type": "object",
        "properties": {
            "sql": {"type": "string", "description": "SELECT query (read-only)"},
            "project_id": {"type": "string", "description": "Filled in by the service"},
        },
        "required": ["sql", "project_id"],
    },
    category="database",
    permission_class=PermissionClass.READ,
    side_effect_scope=SideEffectScope.NONE,
    needs_project=True,
)
def db_query(arguments: dict[str, Any]) -> dict[str, Any]:
    """Answer with `{"success": True, "rows": [...]}` or `{"success": False, "error": ...}`."""
    sql = arguments["sql"]
    if not re.match(r"\s*SELECT\b", sql, re.IGNORECASE):
        return {"success": False, "error": "Only SELECT queries allowed"}
    try:
        with closing(_open(arguments["project_id"])) as connection:
            rows = connection.execute(sql).fetchmany(MAX_ROWS)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return {"success": False, "error": f"Query failed: {error}"}
    return {"success": True, "rows": [dict(row) for row in rows]}


def _open(project_id: str) -> sqlite3.Connection:
    """A connection that can read and do nothing else, whatever the SQL says."""
    folder = os.environ.get("DB_QUERY_DIR")
    connection = _project_database(Path(folder), project_id) if folder else _sample()
    connection.row_factory = sqlite3.Row
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(_Budget(MAX_STEPS), _STEPS_PER_CHECK)
    return connection


def _project_database(folder: Path, project_id: str) -> sqlite3.Connection:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", project_id):
        raise ValueError("the project has no database")
    uri = (folder / f"{project_id}.db").absolute().as_uri()
    return sqlite3.connect(f"{uri}?mode=ro", uri=True)


def _sample() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE orders (item TEXT, price INTEGER);"
        "INSERT INTO orders VALUES ('desk', 150), ('lamp', 20);"
    )
    return connection


def _authorize(action: int, *_details: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


class _Budget:
    """Ends a query that has run for `steps` instructions of the database engine."""

    def __init__(self, steps: int) -> None:
        self._left = steps // _STEPS_PER_CHECK

    def __call__(self) -> int:
        self._left -= 1
        return self._left < 0
