"""Allow-list of syntax: permitted nodes of a tree, and permitted parts of each.

Unlisted nodes and parts are refused, so new syntax in a newer parser is refused until it has been
reviewed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from app.knowledge.sources.guard.contents import verify_contents
from app.knowledge.sources.guard.model import Dialect, Reason, SqlRefused, refused

MAX_DEPTH: Final = 120
"""Maximum depth of the tree: the writer needs about four frames per level."""

_TAIL: Final = ("order", "limit", "offset")
_SELECT: Final = (
    *("with_", "distinct", "expressions", "from_", "joins", "where", "group", "having"),
    "windows",
)
_SET_OPERATIONS: Final = (exp.Union, exp.Intersect, exp.Except)

_UNARY: Final = (exp.Paren, exp.Not, exp.Neg, exp.BitwiseNot, exp.Where, exp.Having, exp.From)
_UNARY_QUERIES: Final = (exp.Exists, exp.Any, exp.All)
_BINARY: Final = (
    *(exp.And, exp.Or, exp.Xor, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.SimilarTo, exp.Glob, exp.RegexpLike, exp.RegexpILike),
    *(exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Pow, exp.BitwiseAnd, exp.BitwiseOr),
    *(exp.BitwiseLeftShift, exp.BitwiseRightShift),
    *(exp.Escape, exp.Filter, exp.WithinGroup, exp.Collate, exp.Extract),
    *(exp.JSONBExtract, exp.JSONBExtractScalar, exp.ArrayContainsAll),
)
_LISTS: Final = (exp.Tuple, exp.JSONPath, exp.Rollup, exp.Cube, exp.GroupingSets)
_LEAVES: Final = (
    *(exp.Star, exp.Null, exp.JSONPathRoot),
    *(exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtime, exp.Localtimestamp),
)

_PARTS: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    kind: frozenset(parts)
    for kinds, parts in (
        ((exp.Select,), (*_SELECT, *_TAIL)),
        (_SET_OPERATIONS, ("with_", "this", "expression", "distinct", *_TAIL)),
        ((exp.Subquery,), ("with_", "this", "alias", *_TAIL)),
        ((exp.With,), ("expressions",)),
        ((exp.CTE,), ("this", "alias", "materialized")),
        ((exp.TableAlias,), ("this", "columns")),
        ((exp.Table,), ("this", "db", "alias")),
        ((exp.Join,), ("this", "side", "kind", "method", "on", "using")),
        ((exp.Group,), ("expressions", "rollup", "cube", "grouping_sets")),
        ((exp.Order,), ("this", "expressions")),
        ((exp.Ordered,), ("this", "desc", "nulls_first")),
        ((exp.Limit, exp.Offset), ("expression",)),
        ((exp.Fetch,), ("direction", "count", "limit_options")),
        ((exp.LimitOptions,), ("rows",)),
        ((exp.Distinct,), ("expressions", "on")),
        ((exp.Window,), ("this", "partition_by", "order", "spec", "alias", "over")),
        ((exp.WindowSpec,), ("kind", "start", "start_side", "end", "end_side")),
        ((exp.Column,), ("this", "table", "db")),
        ((exp.Identifier,), ("this", "quoted")),
        ((exp.Alias,), ("this", "alias")),
        ((exp.Literal,), ("this", "is_string")),
        ((exp.Boolean, exp.Var), ("this",)),
        ((exp.JSONPathKey, exp.JSONPathSubscript), ("this", "quoted")),
        ((exp.Is, exp.Like, exp.ILike), ("this", "expression", "negate")),
        ((exp.Div,), ("this", "expression", "typed", "safe")),
        ((exp.DPipe,), ("this", "expression", "safe")),
        ((exp.In,), ("this", "expressions", "query")),
        ((exp.Between,), ("this", "low", "high", "symmetric")),
        ((exp.Case,), ("this", "ifs", "default")),
        ((exp.If,), ("this", "true", "false")),
        ((exp.Cast,), ("this", "to")),
        ((exp.DataType,), ("this", "expressions")),
        ((exp.DataTypeParam,), ("this",)),
        ((exp.Interval,), ("this", "unit")),
        ((exp.Trim,), ("this", "expression", "position")),
        ((exp.Substring,), ("this", "start", "length")),
        ((exp.StrPosition,), ("this", "substr")),
        ((exp.GroupConcat,), ("this", "separator")),
        ((exp.JSONExtract, exp.JSONExtractScalar), ("this", "expression", "only_json_types")),
        ((exp.AtTimeZone,), ("this", "zone")),
        ((exp.Array,), ("expressions",)),
        ((exp.Anonymous,), ("this", "expressions")),
        (_UNARY, ("this",)),
        (_UNARY_QUERIES, ("this",)),
        (_BINARY, ("this", "expression")),
        (_LISTS, ("expressions",)),
        (_LEAVES, ()),
    )
    for kind in kinds
}

_WORDS: Final[Mapping[str, tuple[Reason, str]]] = {
    "Placeholder": ("variable", "Parameters such as ? and :name are not allowed: write the value."),
    "Parameter": ("variable", "Variables and parameters are not allowed: write the value."),
    "PropertyEQ": ("variable", "Variables cannot be set."),
    "SessionParameter": ("variable", "System variables are not allowed."),
    "locks": ("forbidden_syntax", "FOR UPDATE, FOR SHARE and LOCK IN SHARE MODE are not allowed."),
    "into": ("forbidden_syntax", "SELECT ... INTO is not allowed: the rows come back to you."),
    "Into": ("forbidden_syntax", "SELECT ... INTO is not allowed: the rows come back to you."),
    "recursive": ("recursive_cte", "WITH RECURSIVE is not allowed: join the levels you need."),
    "hint": ("forbidden_syntax", "Optimizer hints are not allowed."),
    "hints": ("forbidden_syntax", "Index hints are not allowed."),
    "operation_modifiers": ("forbidden_syntax", "Modifiers such as SQL_NO_CACHE are not allowed."),
    "laterals": ("forbidden_syntax", "LATERAL is not allowed: use a join or a subquery."),
    "Lateral": ("forbidden_syntax", "LATERAL is not allowed: use a join or a subquery."),
    "Values": ("forbidden_syntax", "VALUES is not allowed as a table: use SELECT ... UNION ALL."),
    "catalog": ("forbidden_syntax", "Name a table as schema.table, without a catalog before it."),
    "Dot": ("forbidden_syntax", "Fields of a row and functions of a schema are not allowed."),
    "ObjectIdentifier": ("forbidden_type", "Casts to object identifiers are not allowed."),
}
"""Messages for refused nodes and parts; others are named by their type."""


def verify(tree: exp.Expr, dialect: Dialect) -> None:
    """Refuse a tree with any node, part, function or type outside the allow-lists.

    Converts the unit of `TIMESTAMPDIFF(DAY, ...)`, parsed as a column, to a plain word.
    """
    stack: list[tuple[exp.Expr, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise refused("too_deep", "The statement is nested too deeply: flatten it.")
        parts = _PARTS.get(type(node))
        if parts is None:
            raise _forbidden(type(node).__name__)
        verify_contents(node, dialect)
        for name, value in node.args.items():
            if value is None or value is False or value == [] or value == "":
                continue
            if name not in parts:
                raise _forbidden(name, type(node).__name__)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, exp.Expr):
                    # A chain of ANDs is parsed and written in a loop, at any length.
                    chained = isinstance(node, exp.Connector) and type(child) is type(node)
                    stack.append((child, depth if chained else depth + 1))


def reads(tree: exp.Expr) -> list[str]:
    """Return every table and column in a resolved tree, sorted, with duplicates."""
    return sorted(
        ".".join(part.name for part in node.parts)
        for node in tree.walk()
        if isinstance(node, exp.Table | exp.Column)
    )


def _forbidden(name: str, owner: str = "") -> SqlRefused:
    shown = f"{name.upper()} of {owner.upper()}" if owner else name.upper()
    if known := _WORDS.get(name):
        return refused(*known, shown)
    message = f"This part of SQL is not allowed: {shown}; write the query without it."
    return refused("forbidden_syntax", message, shown)
