"""Resolution and rewriting of every name in a query: the core of the guard.

Each column becomes `source`.`column` in the database's own spelling, each star the list of its
unmasked columns, each table its full name. A name that does not resolve to exactly one readable
object is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from sqlglot import exp

from app.knowledge.sources.guard.group_by import complete_groups
from app.knowledge.sources.guard.limits import plain_limits
from app.knowledge.sources.guard.model import Column, TableAccess, refused
from app.knowledge.sources.guard.relations import (
    QUERIES,
    column,
    find_column,
    find_table,
    join_columns,
    quoted,
    rename,
    write_table,
)
from app.knowledge.sources.guard.scopes import (
    SEVERAL,
    Output,
    QueryScope,
    QuerySource,
    Visible,
    ambiguous,
    fold,
    masked,
    unknown,
)

Clause = Literal["plain", "group", "having", "order"]
"""Position of an expression: only the last three may use names of the select list."""

_WITH_ALIASES: Final[tuple[Clause, ...]] = ("group", "having", "order")
_CALLS: Final = (exp.GroupConcat, exp.Anonymous, exp.WithinGroup)

MAX_COLUMNS: Final = 5_000
"""Maximum columns of FROM and of expanded stars: stars over nested joins would double them at
every step.
"""

_HIDDEN: Final = frozenset(
    {"rowid", "_rowid_", "oid", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}
)
"""Implicit columns of tables that are not in the schema: an alias with this name may refer to
them.
"""


class NameResolver:
    """Resolver of one statement; `tables` are the tables it reads."""

    def __init__(self, access: TableAccess) -> None:
        self._access = access
        self._columns = 0
        self.tables: set[str] = set()

    def query(
        self,
        node: exp.Expr,
        parent: QueryScope | None,
        ctes: Mapping[str, QuerySource],
        *,
        named: bool,
    ) -> tuple[Column, ...]:
        """Resolve a query in place and return its output columns.

        Args:
            node: A SELECT, a set operation, or one of them in brackets.
            parent: The names of the query around it.
            ctes: The CTEs it can see, by folded name.
            named: Whether every output needs a name, as in FROM; otherwise an expression
                without an alias has the name "".

        Raises:
            SqlRefused: A name does not resolve to a readable object.
        """
        if not isinstance(node, QUERIES):
            raise refused("forbidden_syntax", "Brackets in FROM can only contain a SELECT.", "FROM")
        plain_limits(node)
        ctes = self._with(node, parent, ctes)
        if isinstance(node, exp.Select):
            return self._select(node, QueryScope(parent, ctes), named=named)
        outputs = self.query(node.this, parent, ctes, named=named)
        if isinstance(node, exp.SetOperation):
            other = self.query(node.expression, parent, ctes, named=named)
            if len(other) != len(outputs):
                message = (
                    "The parts of a UNION, INTERSECT or EXCEPT have different numbers of"
                    f" columns, {len(outputs)} and {len(other)}: select as many in each."
                )
                raise refused("unknown_column", message)
        self._order_of_outputs(node, outputs)
        return outputs

    def _with(
        self, node: exp.Expr, parent: QueryScope | None, ctes: Mapping[str, QuerySource]
    ) -> Mapping[str, QuerySource]:
        """Resolve the CTEs of a query; each sees earlier ones, never itself."""
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        own: dict[str, QuerySource] = {}
        for cte in clause.expressions:
            outputs = self.query(cte.this, parent, {**ctes, **own}, named=True)
            name, columns = rename(outputs, cte.args.get("alias"), "CTE")
            if fold(name) in own:
                message = f"Two CTEs are named {name!r}: rename one."
                raise refused("duplicate_name", message, name)
            own[fold(name)] = QuerySource(name, columns)
        return {**ctes, **own}

    def _select(self, node: exp.Select, scope: QueryScope, *, named: bool) -> tuple[Column, ...]:
        self._from(node, scope)
        for window in node.args.get("windows") or []:
            scope.windows.add(fold(window.name))
        outputs = self._projections(node, scope, named=named)
        for join in node.args.get("joins") or []:
            if condition := join.args.get("on"):
                self._expression(condition, scope)
        for part in ("where", "distinct"):
            if clause := node.args.get(part):
                self._expression(clause, scope)
        for window in node.args.get("windows") or []:
            self._expression(window, scope)
        for part in _WITH_ALIASES:
            if clause := node.args.get(part):
                self._expression(clause, scope, part)
        if self._access.dialect == "postgres":
            complete_groups(node, scope)
        return outputs

    def _from(self, node: exp.Select, scope: QueryScope) -> None:
        clause = node.args.get("from_")
        if clause is None:
            return
        bare = _only_columns(node)
        source = self._relation(clause.this, scope, bare=bare)
        self._count(source.columns)
        scope.add(source)
        scope.visible = [Visible(one, source.alias) for one in source.columns]
        for join in node.args.get("joins") or []:
            source = self._relation(join.this, scope, bare=False)
            self._count(source.columns)
            scope.add(source)
            join_columns(join, scope, source)

    def _count(self, columns: Sequence[object]) -> None:
        self._columns += len(columns)
        if self._columns > MAX_COLUMNS:
            message = (
                f"The tables and stars of the statement have more than {MAX_COLUMNS} "
                "columns in total: name the columns you need, and join fewer tables."
            )
            raise refused("too_long", message)

    def _relation(self, node: exp.Expr, scope: QueryScope, *, bare: bool) -> QuerySource:
        """Resolve one entry of FROM. It does not see its neighbors, unlike LATERAL."""
        if not isinstance(node, exp.Table):
            outputs = self.query(node, scope.parent, scope.ctes, named=True)
            name, columns = rename(outputs, node.args.get("alias"), "subquery")
            return QuerySource(name, columns)
        given = node.args.get("alias")
        if given is not None and given.args.get("columns"):
            message = "A table alias must not rename columns: use AS in the select list."
            raise refused("forbidden_syntax", message, node.name)
        cte = scope.ctes.get(fold(node.name)) if not node.db else None
        if cte is not None and isinstance(node.this, exp.Identifier):
            alias = node.alias or cte.alias
            node.set("this", quoted(cte.alias))
            node.set("alias", exp.TableAlias(this=quoted(alias)))
            return QuerySource(alias, cte.columns)
        table = find_table(node, self._access)
        self.tables.add(f"{table.schema}.{table.name}")
        alias = node.alias or table.name
        write_table(node, table, alias, bare=bare)
        return QuerySource(alias, table.columns, table)

    def _projections(
        self, node: exp.Select, scope: QueryScope, *, named: bool
    ) -> tuple[Column, ...]:
        """Resolve the select list, with every star expanded."""
        written: list[exp.Expr] = []
        outputs: list[Column] = []
        for one in node.expressions:
            for item, meaning in self._projection(one, scope):
                name = item.alias or (meaning.column.name if meaning else "")
                if not name and named:
                    name = f"column_{len(outputs) + 1}"
                    item = exp.Alias(this=item, alias=quoted(name))  # noqa: PLW2901
                if name:
                    scope.add_output(name, meaning)
                written.append(item)
                outputs.append(Column(name))
        if not written:
            raise refused("forbidden_syntax", "SELECT needs at least one column.", "SELECT")
        node.set("expressions", written)
        return tuple(outputs)

    def _projection(
        self, node: exp.Expr, scope: QueryScope
    ) -> list[tuple[exp.Expr, Visible | None]]:
        """Resolve one item of a select list, with its column; a star has several."""
        if node.is_star and isinstance(node, exp.Star | exp.Column):
            listed = _star(node, scope)
            self._count(listed)
            return [(_written(one), one) for one in listed]
        value = node.this if isinstance(node, exp.Alias) else node
        if isinstance(node, exp.Alias):
            node.set("alias", quoted(node.alias))
        if not isinstance(value, exp.Column):
            self._expression(value, scope)
            return [(node, None)]
        meaning = self._column(value, scope, "plain", bare=False)
        return [(node, meaning)]

    def _expression(self, node: exp.Expr, scope: QueryScope, clause: Clause = "plain") -> None:
        """Resolve every column and query inside an expression or clause."""
        stack = [node]
        while stack:
            one = stack.pop()
            if isinstance(one, QUERIES):
                self.query(one, scope, scope.ctes, named=False)
            elif isinstance(one, exp.Column):
                bare = isinstance(one.parent, exp.Ordered | exp.Group)
                self._column(one, scope, clause, bare=bare)
            elif isinstance(one, exp.Star):
                _counted(one)
            elif isinstance(one, exp.Identifier | exp.Alias | exp.Table):
                message = f"The name {one.name!r} is not allowed here."
                raise refused("forbidden_syntax", message, one.name)
            else:
                parts = _parts(one, scope)
                # The ORDER BY of a call or its window sees only columns, no aliases.
                if clause == "order" and isinstance(one, (*_CALLS, exp.Window)):
                    for part in parts:
                        self._expression(part, scope)
                else:
                    stack.extend(parts)

    def _column(
        self, node: exp.Column, scope: QueryScope, clause: Clause, *, bare: bool
    ) -> Visible | None:
        """Resolve one column in place; None if it is a name of the select list."""
        if not isinstance(node.this, exp.Identifier):
            message = "A star is only allowed in the select list and in COUNT(*)."
            raise refused("forbidden_syntax", message, "*")
        if node.table:
            return _rewrite(node, find_column(node, scope))
        name = node.name
        output = scope.outputs.get(fold(name)) if clause != "plain" else None
        if output is not None:
            _refuse_masked(name, scope)
        if output is not None and (clause == "order" and bare):
            return _use_output(node, name, output)
        own = scope.own(name)
        if own is not None and output is not None and clause != "group":
            if output is SEVERAL or output[1] != own:
                raise ambiguous(name)
        elif own is None and output is not None:
            return _use_output(node, name, output)
        found = own or scope.column(name)
        if found is None:
            raise unknown(name, scope.sources)
        return _rewrite(node, found)

    def _order_of_outputs(self, node: exp.Expr, outputs: tuple[Column, ...]) -> None:
        """Resolve ORDER BY after a set operation or brackets, which accepts output columns and
        positions.
        """
        order = node.args.get("order")
        for item in order.expressions if order is not None else []:
            key = item.this
            spelled = {fold(one.name): one.name for one in outputs if one.name}
            if isinstance(key, exp.Literal) and not key.is_string:
                continue
            if isinstance(key, exp.Column) and not key.table and fold(key.name) in spelled:
                key.replace(column(spelled[fold(key.name)], None))
                continue
            message = "ORDER BY of a combined query must use its output columns or their positions."
            raise refused("unknown_column", message, "ORDER BY")


def _star(node: exp.Star | exp.Column, scope: QueryScope) -> list[Visible]:
    """Return the unmasked columns of `*` or `t.*`."""
    if isinstance(node, exp.Column):
        source = scope.sources.get(fold(node.table))
        if source is None or node.db:
            message = f"Table or alias {node.table!r} does not exist in FROM."
            raise refused("unknown_column", message, f"{node.table}.*")
        every = [Visible(one, source.alias) for one in source.columns]
    else:
        every = scope.visible
    if not every:
        raise refused("unknown_column", "SELECT * needs a FROM.", "*")
    return [one for one in every if not one.column.masked]


def _written(one: Visible) -> exp.Expr:
    return column(one.column.name, one.alias)


def _rewrite(node: exp.Column, found: Visible) -> Visible:
    node.set("db", None)
    node.set("table", quoted(found.alias) if found.alias is not None else None)
    node.set("this", quoted(found.column.name))
    return found


def _use_output(node: exp.Column, name: str, output: Output) -> Visible | None:
    if not isinstance(output, tuple):
        raise ambiguous(name)
    spelled, meaning = output
    if meaning is not None:
        return _rewrite(node, meaning)
    if fold(name) in _HIDDEN:
        raise ambiguous(name)
    node.set("this", quoted(spelled))
    return None


def _refuse_masked(name: str, scope: QueryScope) -> None:
    """Refuse a name of the select list that is masked in any source here and so could refer to
    it.
    """
    if any(one.column.masked and fold(one.column.name) == fold(name) for one in scope.visible):
        raise masked(name)


def _counted(star: exp.Star) -> None:
    parent = star.parent
    counting = isinstance(parent, exp.Anonymous) and str(parent.this).upper() == "COUNT"
    if not counting:
        message = "A star is only allowed in the select list and in COUNT(*)."
        raise refused("forbidden_syntax", message, "*")


def _parts(node: exp.Expr, scope: QueryScope) -> list[exp.Expr]:
    """Return the parts of an expression; a window may only name those of WINDOW."""
    if not isinstance(node, exp.Window):
        return list(node.iter_expressions())
    name = node.args.get("alias")
    if name is not None:
        if fold(name.name) not in scope.windows:
            raise refused("unknown_column", f"Window {name.name!r} does not exist.", name.name)
        node.set("alias", quoted(fold(name.name)))
    if isinstance(node.this, exp.Identifier):
        node.set("this", quoted(fold(node.name)))
    return [one for one in node.iter_expressions() if not isinstance(one, exp.Identifier)]


def _only_columns(node: exp.Select) -> bool:
    """Return whether a query is only a list of columns of one table, optionally with a LIMIT."""
    others = {name for name, value in node.args.items() if value}
    plain = all(isinstance(one.unalias(), exp.Column | exp.Star) for one in node.expressions)
    return plain and others <= {"expressions", "from_", "limit", "offset"}
