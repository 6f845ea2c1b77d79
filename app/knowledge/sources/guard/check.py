"""Entry point of the guard: whether a statement may run, and in which form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from app.knowledge.sources.guard.model import Dialect, Guarded, TableAccess, refused

if TYPE_CHECKING:
    from sqlglot.expressions import Expr
    from sqlglot.tokenizer_core import Token

MAX_LIMIT: Final = 100_000
"""Maximum number of rows per query."""

_INSTEAD: Final = {
    "SHOW": "use the schema tool instead",
    "DESCRIBE": "use the schema tool instead",
    "DESC": "use the schema tool instead",
    "EXPLAIN": "some forms execute the statement; send the SELECT itself",
    "TABLE": "write SELECT * FROM",
    "VALUES": "write SELECT",
}
_START: Final = ("SELECT", "WITH", "(")

MAX_CHARACTERS: Final = 20_000
"""Maximum length of a statement in characters."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLOCK = r"(?P<comment>/\*.*?\*/)"
_QUOTED: Final[dict[Dialect, str]] = {
    "mysql": r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|`[^`]*`|--(?=\s|$)[^\n]*|\#[^\n]*",
    "postgres": r"\b[eE]'(?:[^'\\]|''|\\.)*'|'[^']*'|\"[^\"]*\"|--[^\n]*",
    "sqlite": r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*",
}
_PIECES: Final = {
    dialect: re.compile(rf"{quoted}|{_BLOCK}|(?P<open>/\*|['\"`])|[^'\"`/\-\#\[eE]+|.", re.DOTALL)
    for dialect, quoted in _QUOTED.items()
}


def check(sql: str, access: TableAccess, limit: int) -> Guarded:
    """Check one statement of an agent and return the text to execute.

    Imports sqlglot at the first call. Takes about a millisecond, the longest statements up to a
    second; never waits, reads or writes.

    Args:
        sql: What the agent sent; one trailing semicolon is allowed.
        access: The tables and columns that this agent may read.
        limit: How many rows it may see (from 1, to `MAX_LIMIT`).

    Returns:
        The statement to execute, with its outermost LIMIT set.

    Raises:
        SqlRefused: For anything but a SELECT of authorized tables and unmasked columns.
        ValueError: `limit` is out of range: the caller's mistake, not the agent's.
    """
    from app.knowledge.sources.guard import dialects, limits
    from app.knowledge.sources.guard.allowed_syntax import verify
    from app.knowledge.sources.guard.name_resolver import NameResolver

    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit must be 1 to {MAX_LIMIT}, not {limit}")
    dialect = access.dialect
    inspect(sql, dialect)
    tokens = dialects.split(sql, dialect)
    _inspect_start(tokens)
    tree = dialects.parse(tokens, sql, dialect)
    verify(tree, dialect)
    resolver = NameResolver(access)
    outputs = resolver.query(tree, None, {}, named=False)
    query, fetches = limits.cap(tree, limit + 1)
    columns = dialects.column_names(query, outputs, dialect)
    return Guarded(
        sql=_written(query, dialect),
        tables=tuple(sorted(resolver.tables)),
        columns=columns,
        limit=limit,
        fetches=fetches,
    )


def sample(access: TableAccess, table: str, columns: Sequence[str] | None, limit: int) -> Guarded:
    """Return the statement that reads a few rows of one table, only of unmasked columns.

    Args:
        access: The tables and columns that this agent may read.
        table: `table` or `schema.table`, in any case.
        columns: Which columns, in any case; None for all that are not masked.
        limit: How many rows.

    Raises:
        SqlRefused: The table is not authorized, or a column is unknown or masked.
    """
    mark = "`" if access.dialect == "mysql" else '"'

    def quoted(name: str) -> str:
        return mark + name.replace(mark, mark * 2) + mark

    if columns is not None and not columns:
        raise refused("unknown_column", "The list of columns is empty: omit it to select all.")
    listed = "*" if columns is None else ", ".join(quoted(name) for name in columns)
    # A name that contains a dot is rarer than a schema before a name.
    where = ".".join(quoted(part) for part in table.split(".", 1))
    # The guard parses these words like an agent's: no name bypasses it.
    return check(f"SELECT {listed} FROM {where} LIMIT {limit}", access, limit)  # noqa: S608


def _written(query: Expr, dialect: Dialect) -> str:
    """Write a query, and parse it again like a database, because the writer is not trusted."""
    from app.knowledge.sources.guard import dialects
    from app.knowledge.sources.guard.allowed_syntax import reads, verify

    meant = reads(query)
    sql = dialects.render(query, dialect)
    again = dialects.read_again(sql, dialect)
    verify(again, dialect)
    if reads(again) != meant:
        message = "The statement cannot be rewritten without changing its meaning: use simpler SQL."
        raise refused("unreadable", message)
    return sql


def _inspect_start(tokens: Sequence[Token]) -> None:
    word = tokens[0].text.upper()
    if word in _START:
        return
    instead = _INSTEAD.get(word, "send one SELECT")
    raise refused("not_select", f"Only SELECT is allowed, not {word[:40]}: {instead}.", word)


# Checks of a statement before parsing: characters, quotes and comments.
#
# Only the guard's own text is ever executed, so nothing here determines what the database sees. It
# refuses text that people and databases could read differently, with a clear message.


def inspect(sql: str, dialect: Dialect) -> None:
    """Refuse a text that could be read in several ways.

    Raises:
        SqlRefused: For control characters, executable comments and optimizer hints, comments
            inside comments, and quotes or comments that are never closed.
    """
    if len(sql) > MAX_CHARACTERS:
        message = f"The statement has more than {MAX_CHARACTERS} characters: shorten it."
        raise refused("too_long", message)
    if control := _CONTROL.search(sql):
        message = f"The statement contains the control character {control[0]!r}: remove it."
        raise refused("bad_character", message, repr(control[0]))
    for piece in _PIECES[dialect].finditer(sql):
        if comment := piece["comment"]:
            _inspect_comment(comment)
        elif piece["open"]:
            raise refused("unbalanced", f"The {piece['open']} is not closed.", piece["open"])


def _inspect_comment(comment: str) -> None:
    if comment.startswith(("/*!", "/*M!", "/*m!", "/*+")):
        message = "Executable comments and optimizer hints are not allowed: remove the comment."
        raise refused("executable_comment", message, comment)
    if "/*" in comment[2:]:
        raise refused("unbalanced", "Nested comments are not allowed.", comment)
