"""GROUP BY a primary key, for tables that the guard rewrites for PostgreSQL.

A table with masked columns becomes a subquery of the others in FROM, whose key PostgreSQL does not
recognize as determining the other columns. The columns that a query uses from such a table are
therefore added to its GROUP BY: if it includes the key, they split no group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from app.knowledge.sources.guard.relations import column
from app.knowledge.sources.guard.scopes import QueryScope, fold

_AGGREGATES: Final = frozenset(
    (
        *("COUNT", "SUM", "AVG", "MIN", "MAX", "STRING_AGG", "ARRAY_AGG", "BOOL_AND", "BOOL_OR"),
        *("EVERY", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP"),
        *("CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "MODE"),
        *("PERCENTILE_CONT", "PERCENTILE_DISC", "BIT_AND", "BIT_OR"),
        *("JSON_AGG", "JSONB_AGG", "JSON_OBJECT_AGG", "JSONB_OBJECT_AGG"),
    )
)
_AFTER_GROUPING: Final = ("distinct", "expressions", "having", "windows", "order")

_Name = tuple[str, str]
"""Column: the folded alias of its source, and its own spelling."""


def complete_groups(node: exp.Select, scope: QueryScope) -> None:
    """Add the columns determined by primary keys to a resolved GROUP BY."""
    group = node.args.get("group")
    if group is None or any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets")):
        return
    grouped = set(_grouped(node, group))
    decided = dict(_keyed(scope, grouped))
    if not decided:
        return
    for alias, name in dict.fromkeys(_read_of_groups(node)):
        if (alias, name) not in grouped and name in decided.get(alias, ()):
            group.append("expressions", column(name, scope.sources[alias].alias))


def _keyed(scope: QueryScope, grouped: set[_Name]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the tables written as subqueries whose key is grouped, with their columns."""
    for alias, source in scope.sources.items():
        table = source.table
        if table is None or not table.masked or not table.key:
            continue
        if all((alias, name) in grouped for name in table.key):
            yield alias, table.readable


def _read_of_groups(node: exp.Select) -> Iterator[_Name]:
    for part in _AFTER_GROUPING:
        value = node.args.get(part)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, exp.Expr):
                yield from _outside_aggregates(one)


def _grouped(node: exp.Select, group: exp.Group) -> Iterator[_Name]:
    """Yield the plain columns of GROUP BY; a position refers to an item of the select list."""
    for one in group.expressions:
        item = one
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            if 0 <= place < len(node.expressions):
                item = node.expressions[place].unalias()
        if isinstance(item, exp.Column) and item.table:
            yield fold(item.table), item.name


def _outside_aggregates(node: exp.Expr, *, windowed: bool = False) -> Iterator[_Name]:
    """Yield columns that are read once per group, not per row."""
    if isinstance(node, exp.Column):
        if node.table:
            yield fold(node.table), node.name
        return
    if not windowed and _is_aggregate(node):
        return
    for part in node.iter_expressions():
        # `SUM(x) OVER (...)` reads the groups as its rows.
        over = isinstance(node, exp.Window) and part is node.this
        still = windowed and isinstance(node, exp.Filter | exp.WithinGroup)
        yield from _outside_aggregates(part, windowed=over or still)


def _is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Filter | exp.WithinGroup):
        return True
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in _AGGREGATES
