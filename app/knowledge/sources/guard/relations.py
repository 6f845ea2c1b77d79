"""Entries of FROM: tables, CTEs or subqueries, and their visible columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sqlglot import exp

from app.knowledge.sources.guard.model import (
    Column,
    SqlRefused,
    TableAccess,
    TableSchema,
    names,
    refused,
)
from app.knowledge.sources.guard.scopes import (
    QueryScope,
    QuerySource,
    Visible,
    find_visible,
    fold,
    masked,
    unknown,
)

QUERIES: Final = (exp.Select, exp.SetOperation, exp.Subquery)

_SYSTEM_SCHEMAS: Final = frozenset(
    {"information_schema", "performance_schema", "mysql", "sys", "pg_catalog", "pg_toast"}
)
_SYSTEM_PREFIXES: Final = {"mysql": "", "postgres": "pg_", "sqlite": "sqlite_"}


def quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


def column(name: str, alias: str | None) -> exp.Column:
    """Return a column in its own spelling, with the name of its source unless merged."""
    return exp.Column(this=quoted(name), table=quoted(alias) if alias is not None else None)


def find_table(node: exp.Table, access: TableAccess) -> TableSchema:
    """Find the authorized table of a reference.

    Raises:
        SqlRefused: It is not authorized, a system table, a table function, or has no columns.
    """
    if not isinstance(node.this, exp.Identifier):
        raise refused("forbidden_syntax", "Table functions are not allowed in FROM.", "FROM")
    name, schema = node.name, node.db or None
    shown = f"{schema}.{name}" if schema else name
    if fold(schema or access.default_schema) in _SYSTEM_SCHEMAS:
        raise _system(shown)
    table = access.find(name, schema)
    prefix = _SYSTEM_PREFIXES[access.dialect]
    if prefix and fold(name).startswith(prefix) and (table is None or prefix == "sqlite_"):
        raise _system(shown)
    if table is None:
        there = names(f"{one.schema}.{one.name}" for one in access.tables)
        hint = f"authorized tables are {there}" if there else "no table is authorized"
        message = f"The table {shown!r} is not authorized: {hint}."
        raise refused("unauthorised_table", message, shown)
    if not table.columns:
        message = f"The columns of {shown!r} are unknown, so it cannot be read."
        raise refused("unauthorised_table", message, shown)
    if not table.readable:
        raise refused("masked_column", f"Every column of {shown!r} is masked.", shown)
    return table


def write_table(node: exp.Table, table: TableSchema, alias: str, *, bare: bool) -> None:
    """Write a table with its schema and alias, in the database's spelling.

    A table with masked columns becomes a subquery of the others, so that no masked column is
    reachable; `bare` prevents this, for a query of plain columns only.
    """
    real = exp.Table(
        this=quoted(table.name), db=quoted(table.schema), alias=exp.TableAlias(this=quoted(alias))
    )
    if bare or not table.masked:
        node.replace(real)
        return
    inner = exp.Select(
        expressions=[column(name, alias) for name in table.readable], from_=exp.From(this=real)
    )
    node.replace(exp.Subquery(this=inner, alias=exp.TableAlias(this=quoted(alias))))


def rename(
    outputs: Sequence[Column], alias: exp.Expr | None, what: str
) -> tuple[str, tuple[Column, ...]]:
    """Apply `AS name (a, b)` to the output of a subquery or CTE.

    Raises:
        SqlRefused: It has no name, or another number of columns.
    """
    name = alias.name if isinstance(alias, exp.TableAlias) else ""
    if not isinstance(alias, exp.TableAlias) or not name:
        message = f"A {what} in FROM needs an alias: (SELECT ...) AS name."
        raise refused("forbidden_syntax", message, what)
    alias.set("this", quoted(name))
    listed = alias.args.get("columns") or []
    if not listed:
        return name, tuple(outputs)
    if len(listed) != len(outputs):
        message = f"{name!r} names {len(listed)} columns, but its query returns {len(outputs)}."
        raise refused("unknown_column", message, name)
    renamed = tuple(Column(one.name) for one in listed)
    query = alias.parent.this if isinstance(alias.parent, exp.Subquery) else None
    inner = ("group", "having", "order")  # they may use the names that would be removed
    if isinstance(query, exp.Select) and not any(query.args.get(part) for part in inner):
        # MariaDB and SQLite do not support a list of columns after a subquery.
        query.set(
            "expressions", [_named(*pair) for pair in zip(query.expressions, renamed, strict=True)]
        )
        alias.set("columns", None)
    else:
        alias.set("columns", [quoted(one.name) for one in renamed])
    return name, renamed


def _named(item: exp.Expr, name: Column) -> exp.Expr:
    value = item.this if isinstance(item, exp.Alias) else item
    return exp.Alias(this=value, alias=quoted(name.name))


def join_columns(join: exp.Join, scope: QueryScope, source: QuerySource) -> None:
    """Add the columns of a joined source; NATURAL becomes USING, USING merges columns.

    Raises:
        SqlRefused: A merged column is masked, unknown or ambiguous on either side.
    """
    right = [Visible(one, source.alias) for one in source.columns]
    listed = [one.name for one in join.args.get("using") or []]
    if str(join.args.get("method") or "") == "NATURAL":
        listed = _common(scope.visible, right)
        join.set("method", None)
    merged = [_merged(name, scope, right, source) for name in listed]
    if merged:
        join.set("using", [quoted(one.column.name) for one in merged])
    gone = {fold(one.column.name) for one in merged}
    scope.visible = [*merged, *_without(scope.visible, gone), *_without(right, gone)]


def _common(left: Sequence[Visible], right: Sequence[Visible]) -> list[str]:
    there = {fold(one.column.name) for one in right}
    common = [one.column.name for one in left if fold(one.column.name) in there]
    if not common:
        message = "NATURAL JOIN finds no common column: join with ON or USING."
        raise refused("unknown_column", message, "NATURAL JOIN")
    return common


def _merged(name: str, scope: QueryScope, right: Sequence[Visible], source: QuerySource) -> Visible:
    mine, theirs = find_visible(scope.visible, name), find_visible(right, name)
    if mine is None:
        raise unknown(name, scope.sources)
    if theirs is None:
        raise unknown(name, scope.sources, source.alias)
    return Visible(Column(mine.column.name), None)


def _without(visible: Iterable[Visible], gone: set[str]) -> list[Visible]:
    return [one for one in visible if fold(one.column.name) not in gone]


def _system(shown: str) -> SqlRefused:
    message = (
        f"The system table {shown!r} is not allowed: use the schema tool to list readable tables."
    )
    return refused("system_table", message, shown)


def find_column(node: exp.Column, scope: QueryScope) -> Visible:
    """Resolve a qualified column.

    Raises:
        SqlRefused: No entry of FROM has the name, or the column is missing or masked.
    """
    name, alias = node.name, node.table
    source = scope.source(alias)
    if source is None or not _same_schema(node, source):
        message = f"Table or alias {alias!r} does not exist in FROM."
        raise refused("unknown_column", message, f"{alias}.{name}")
    found = source.find(name)
    if found is None:
        raise unknown(name, {fold(alias): source}, alias)
    if found.masked:
        raise masked(f"{alias}.{name}")
    return Visible(found, source.alias)


def _same_schema(node: exp.Column, source: QuerySource) -> bool:
    if not node.db:
        return True
    table = source.table
    return (
        table is not None
        and fold(table.schema) == fold(node.db)
        and fold(table.name) == fold(source.alias)
    )
