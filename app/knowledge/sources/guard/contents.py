"""Permitted contents of allowed nodes: functions, types, units, joins and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, cast

from sqlglot import exp

from app.knowledge.sources.guard.functions import FIRST_IS_UNIT, FUNCTIONS, TYPES, UNITS
from app.knowledge.sources.guard.model import Dialect, refused

MAX_NAME: Final = 64
"Maximum length of a table, column or alias name, in characters."

_COLLATION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_NUMBER: Final = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPAN: Final = re.compile(r"[-+0-9A-Za-z.: ]{1,64}")
_FRACTION: Final = re.compile(r"[-+]?\d*\.\d+")
_JOINS: Final = frozenset({"", "INNER", "CROSS", "OUTER"})


def verify_contents(node: exp.Expr, dialect: Dialect) -> None:
    """Refuse an allowed node with a value outside its list.

    Converts the unit of `TIMESTAMPDIFF(DAY, ...)`, parsed as a column, to a plain word.
    """
    if rule := _RULES.get(type(node)):
        rule(node, dialect)


def _function(node: exp.Expr, dialect: Dialect) -> None:
    name = node.this
    # A quoted name would be looked up as written, bypassing the list of plain names.
    if not isinstance(name, str) or name.upper() not in FUNCTIONS[dialect]:
        shown = name if isinstance(name, str) else str(name.name)
        message = f"The function {shown!r} is not allowed: write the query without it."
        raise refused("forbidden_function", message, shown)
    first = node.expressions[0] if node.expressions else None
    if name.upper() in FIRST_IS_UNIT and isinstance(first, exp.Column) and not first.table:
        first.replace(exp.Var(this=first.name.upper()))


def _type(node: exp.Expr, dialect: Dialect) -> None:
    name = getattr(node.this, "name", str(node.this))
    if not isinstance(node.this, exp.DType) or name not in TYPES[dialect]:
        instead = "use a plain type such as CHAR or DATE"
        if dialect == "sqlite":
            instead = "use INTEGER, REAL, NUMERIC or TEXT, and date() for times"
        raise refused("forbidden_type", f"A cast to {name} is not allowed: {instead}.", name)


def _word(node: exp.Expr, dialect: Dialect) -> None:
    word, parent = node.name, node.parent
    if isinstance(parent, exp.Interval | exp.Extract | exp.Anonymous):
        allowed = word.upper() in UNITS
    elif isinstance(parent, exp.Limit):
        allowed = word.upper() == "ALL"
    else:
        allowed = isinstance(parent, exp.Collate) and bool(_COLLATION.fullmatch(word))
    if not allowed:
        message = f"The word {word!r} is not allowed here: write the query without it."
        raise refused("forbidden_syntax", message, word)


def _collation(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node.args.get("expression"), exp.Var):
        raise refused("forbidden_syntax", "COLLATE requires a single plain word.", "COLLATE")


def _part_of_time(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node.this, exp.Var):
        raise refused("forbidden_syntax", "EXTRACT requires a unit such as YEAR.", "EXTRACT")


def _span(node: exp.Expr, dialect: Dialect) -> None:
    amount = node.this
    if isinstance(amount, exp.Literal):
        plain = _SPAN.fullmatch(amount.name) is not None
    else:
        plain = amount is not None and dialect == "mysql" and not isinstance(amount, exp.Tuple)
    if not plain:
        message = "INTERVAL requires a plain amount and a unit, such as INTERVAL '7' DAY."
        raise refused("forbidden_syntax", message, "INTERVAL")
    unit = node.text("unit").upper()
    fraction = isinstance(amount, exp.Literal) and _FRACTION.fullmatch(amount.name) is not None
    if dialect == "mysql" and fraction and "_" not in unit:
        # The database rounds numbers and truncates texts; the parser makes a text of both.
        message = f"INTERVAL requires a whole number of {unit}: use a smaller unit."
        raise refused("forbidden_syntax", message, "INTERVAL")


def _name(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node.this, str) or not 0 < len(node.this) <= MAX_NAME:
        message = f"A name must have 1 to {MAX_NAME} characters: choose a shorter one."
        raise refused("forbidden_syntax", message, str(node.this))


def _number(node: exp.Expr, dialect: Dialect) -> None:
    literal = cast("exp.Literal", node)
    if not literal.is_string and not _NUMBER.fullmatch(literal.name):
        message = f"The number {literal.name!r} must be written plainly."
        raise refused("forbidden_syntax", message, literal.name)


def _join(node: exp.Expr, dialect: Dialect) -> None:
    kind, method = str(node.args.get("kind") or ""), str(node.args.get("method") or "")
    if kind not in _JOINS or method not in {"", "NATURAL"}:
        message = f"A {kind or method} join is not allowed: use INNER, LEFT, RIGHT, FULL or CROSS."
        raise refused("forbidden_syntax", message, kind or method)


_RULES: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, Dialect], None]]] = {
    exp.Anonymous: _function,
    exp.DataType: _type,
    exp.Var: _word,
    exp.Collate: _collation,
    exp.Extract: _part_of_time,
    exp.Interval: _span,
    exp.Identifier: _name,
    exp.Literal: _number,
    exp.Join: _join,
}
