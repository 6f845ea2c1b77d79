"""Inputs, outputs and refusals of the guard."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from app.core.errors import ToolFailed

Dialect = Literal["mysql", "postgres", "sqlite"]

Reason = Literal[
    "empty",  # no statement at all
    "too_long",  # more characters or tokens than the guard accepts
    "too_deep",  # nested too deeply for the guard
    "bad_character",  # NUL or another control character
    "executable_comment",  # /*! ... */, /*M! ... */ and /*+ ... */
    "unbalanced",  # a quote, a comment or a bracket that is never closed
    "multiple_statements",
    "not_select",  # a statement of another kind: SHOW, SET, DELETE, EXPLAIN ...
    "unreadable",  # not SQL of this dialect
    "forbidden_syntax",  # a part of SELECT outside the allow-list
    "forbidden_function",
    "forbidden_type",  # a cast to a type outside the allow-list
    "variable",  # @x, @@x, ?, :x, $1
    "recursive_cte",
    "system_table",
    "unauthorised_table",
    "unknown_column",
    "ambiguous_column",
    "duplicate_name",  # two tables under one name, two CTEs of one name
    "masked_column",
    "bad_limit",
]
"""Stable codes of a refusal: the tool result's `code` and the query audit's verdict."""

SESSION_SETUP: Final[dict[Dialect, tuple[str, ...]]] = {
    "mysql": ("SET SESSION sql_mode = 'STRICT_TRANS_TABLES'", "SET NAMES utf8mb4"),
    "postgres": ("SET standard_conforming_strings = on", "SET search_path = pg_catalog"),
    "sqlite": (),
}
"""Statements to run first on each connection: the guard's checks assume these settings.

`NO_BACKSLASH_ESCAPES` and `ANSI_QUOTES` would change MySQL's quotes; a search path with other
schemas could replace an allowed function. Tables need no search path: the guard writes the schema
of each.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """Column in the database's spelling, such as `tenantId`; a masked one may not be used."""

    name: str
    masked: bool = False


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One authorized table or view with **all** its columns, in the order of the schema.

    `schema` is the database of MySQL, the schema of PostgreSQL, `main` of SQLite. Names are in the
    database's own spelling. A table without columns is refused when used. `key` contains the
    columns of its primary key, or is empty.
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()

    @property
    def masked(self) -> bool:
        """Return whether at least one column is masked."""
        return any(column.masked for column in self.columns)

    @property
    def readable(self) -> tuple[str, ...]:
        """Return the names of the unmasked columns, in the order of the schema."""
        return tuple(column.name for column in self.columns if not column.masked)


@dataclass(frozen=True)
class TableAccess:
    """Tables that one agent may read in one data source.

    Names are matched case-insensitively; if two differ only in case, the exact spelling is
    required. `default_schema` is the schema of tables without one.
    """

    dialect: Dialect
    default_schema: str
    tables: tuple[TableSchema, ...]
    _index: dict[tuple[str, str], tuple[TableSchema, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        for table in self.tables:
            key = (table.schema.lower(), table.name.lower())
            self._index[key] = (*self._index.get(key, ()), table)

    def find(self, name: str, schema: str | None = None) -> TableSchema | None:
        """Return an authorized table; None if there is none, or more than one matches."""
        wanted = schema or self.default_schema
        found = self._index.get((wanted.lower(), name.lower()), ())
        if len(found) > 1:
            found = tuple(one for one in found if (one.schema, one.name) == (wanted, name))
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Guarded:
    """Permitted statement: execute `sql`, never the original.

    Pass `sql` to the driver without parameters, so that no `%` is read as a placeholder.

    Attributes:
        sql: One statement without comments and without a final semicolon; every table with its
            schema, every column with its table, names as the database spells them.
        tables: tables it reads, as `schema.table`, sorted.
        columns: The names of the output columns; an expression without an alias shows its text.
        limit: Maximum rows for the caller.
        fetches: The number in the outermost LIMIT: at most `limit` + 1, less if the statement
            requests less. More than `limit` rows in the result mean that it was truncated: drop the
            rest.
    """

    sql: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    limit: int
    fetches: int


class SqlRefused(ToolFailed):
    """Refusal by the guard: one sentence with the problem and the fix.

    `details` contains `code` (a `Reason`) and `where` (the part of the SQL, or "").
    """


def refused(reason: Reason, message: str, where: str = "") -> SqlRefused:
    """Create a refusal; `where` is truncated to 200 characters."""
    return SqlRefused(message, code=reason, where=where[:200])


def names(listed: Iterable[str], most: int = 12) -> str:
    """Return a list for a message: quoted, comma-separated, truncated after `most`."""
    every = list(listed)
    shown = ", ".join(repr(one) for one in every[:most])
    return f"{shown} and {len(every) - most} more" if len(every) > most else shown
