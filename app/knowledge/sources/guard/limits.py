"""LIMIT, OFFSET and FETCH: only plain numbers, and at most the allowed rows."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from app.knowledge.sources.guard.model import SqlRefused, refused

_LARGEST: Final = 2**62


def plain_limits(query: exp.Expr) -> None:
    """Turn FETCH into LIMIT and LIMIT ALL into none.

    Raises:
        SqlRefused: A number is not a plain number.
    """
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if isinstance(limit, exp.Fetch):
        limit = exp.Limit(expression=limit.args.get("count") or exp.Literal.number(1))
        query.set("limit", limit)
    if isinstance(limit, exp.Limit):
        if isinstance(limit.expression, exp.Var):
            query.set("limit", None)
        else:
            _number(limit.expression)
    if offset is not None:
        _number(offset.expression)


def cap(query: exp.Expr, most: int) -> tuple[exp.Expr, int]:
    """Set the outermost LIMIT to `most`, or leave a smaller one.

    Returns:
        The query without outer brackets, and the number in its LIMIT.
    """
    while isinstance(query, exp.Subquery) and _only_brackets(query):
        query = query.this
    limit = query.args.get("limit")
    asked = _number(limit.expression) if limit is not None else most
    fetches = min(asked, most)
    query.set("limit", exp.Limit(expression=exp.Literal.number(fetches)))
    return query, fetches


def _only_brackets(query: exp.Subquery) -> bool:
    return all(name == "this" or not value for name, value in query.args.items())


def _number(node: exp.Expr | None) -> int:
    text = node.name if isinstance(node, exp.Literal) and not node.is_string else ""
    if not (text.isascii() and text.isdigit() and int(text) <= _LARGEST):
        raise _refusal()
    return int(text)


def _refusal() -> SqlRefused:
    message = "LIMIT, OFFSET and FETCH require a plain whole number, such as LIMIT 50."
    return refused("bad_limit", message, "LIMIT")
