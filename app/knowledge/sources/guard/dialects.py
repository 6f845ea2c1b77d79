"""Parsing and writing of SQL: simplified forms of sqlglot's three dialects.

Each function call stays as written, a name with arguments: sqlglot knows hundreds of functions and
would rewrite some of them to others. One list of names therefore decides, and the database gets the
function that was checked. Importing this module imports sqlglot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generator import Generator
from sqlglot.generators.mysql import MySQLGenerator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.sqlite import SQLiteGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.parsers.sqlite import SQLiteParser
from sqlglot.tokenizer_core import Token, TokenType

from app.knowledge.sources.guard.contents import MAX_NAME
from app.knowledge.sources.guard.model import Column, Dialect, SqlRefused, refused

MAX_WORDS: Final = 4_000
"""Maximum number of tokens in a statement."""

MAX_NESTING: Final = 24
"""Maximum nesting of brackets and CASE: the parser needs about thirty frames per level."""

MAX_SUBSCRIPTS: Final = 40
"""Maximum number of square brackets: the parser needs quadratic time for a chain of them."""

_OPENING: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSING: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
_SPECIAL_CALLS: Final = ("CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION")
_TYPES: Final = Parser.TYPE_TOKENS - {TokenType.INTERVAL}
_ENDS_OF_TYPES: Final = ("ZONE", "PRECISION", "VARYING")
_AGGREGATED_TEXT: Final = ("GROUP_CONCAT", "STRING_AGG")


def _special(parser: type[Parser], *names: str) -> dict[str, Callable[..., Any]]:
    """Return the calls with words between their arguments, such as `EXTRACT(YEAR FROM day)`."""
    wanted = (*_SPECIAL_CALLS, *_AGGREGATED_TEXT, *names)
    return {
        name: parser.FUNCTION_PARSERS[name] for name in wanted if name in parser.FUNCTION_PARSERS
    }


class _MySQLParser(MySQLParser):
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = _special(MySQLParser, "CONVERT")


class _PostgresParser(PostgresParser):
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = _special(PostgresParser)


class _SQLiteParser(SQLiteParser):
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = _special(SQLiteParser)


class _MySQLGenerator(MySQLGenerator):
    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **MySQLGenerator.TRANSFORMS,
        # MariaDB and MySQL 5.7 lack the function REGEXP_LIKE.
        exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP"),
        # MariaDB lacks the operator ->>.
        exp.JSONExtractScalar: lambda self, node: self.func(
            "JSON_UNQUOTE", self.func("JSON_EXTRACT", node.this, node.expression)
        ),
    }


class _SQLiteGenerator(SQLiteGenerator):
    TYPE_MAPPING: ClassVar[dict[Any, Any]] = {
        **SQLiteGenerator.TYPE_MAPPING,
        # REAL would round large integers, INTEGER would truncate fractions: SQLite does neither
        # here.
        exp.DType.DECIMAL: "NUMERIC",
        exp.DType.BOOLEAN: "NUMERIC",
    }


_GRAMMARS: Final[dict[Dialect, tuple[Grammar, type[Parser], type[Generator]]]] = {
    "mysql": (MySQL(), _MySQLParser, _MySQLGenerator),
    "postgres": (Postgres(), _PostgresParser, PostgresGenerator),
    "sqlite": (SQLite(), _SQLiteParser, _SQLiteGenerator),
}


def split(sql: str, dialect: Dialect) -> list[Token]:
    """Split a statement into tokens, without its single trailing semicolon.

    Raises:
        SqlRefused: It is empty, has several statements, or is too long or nested too deeply.
    """
    try:
        tokens = _GRAMMARS[dialect][0].tokenize(sql)
    except SqlglotError as error:
        raise refused("unbalanced", "A quote or comment is not closed.") from error
    if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        message = "Only one statement is allowed, with at most one semicolon at its end."
        raise refused("multiple_statements", message, ";")
    if not tokens:
        raise refused("empty", "The statement is empty: send one SELECT.")
    if len(tokens) > MAX_WORDS:
        raise refused("too_long", f"The statement has more than {MAX_WORDS} words: shorten it.")
    _measure(tokens)
    if dialect == "postgres":
        _inspect_casts(tokens)
    return tokens


def parse(tokens: list[Token], sql: str, dialect: Dialect) -> exp.Expr:
    """Parse one statement.

    Raises:
        SqlRefused: It is not SQL of this dialect, or more than the parser can follow.
    """
    grammar, parser, _ = _GRAMMARS[dialect]
    try:
        trees = parser(dialect=grammar, error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except RecursionError:
        raise refused("too_deep", "The statement is nested too deeply: flatten it.") from None
    except SqlglotError as error:
        raise _reading_error(error, dialect) from error
    if len(trees) != 1 or trees[0] is None:
        raise refused("multiple_statements", "Only one statement is allowed.")
    return trees[0]


def render(tree: exp.Expr, dialect: Dialect) -> str:
    """Write a tree in its dialect: every name quoted, no comments.

    Raises:
        SqlRefused: It is nested too deeply for the writer, or cannot be written.
    """
    grammar, _, generator = _GRAMMARS[dialect]
    writer = generator(
        dialect=grammar, identify=True, comments=False, unsupported_level=ErrorLevel.RAISE
    )
    try:
        return writer.generate(tree, copy=False)
    except RecursionError:
        raise refused("too_deep", "The statement is nested too deeply: flatten it.") from None
    except (SqlglotError, ValueError) as error:
        message = f"The statement cannot be rewritten for {dialect}: use simpler SQL."
        raise refused("unreadable", message) from error


def read_again(sql: str, dialect: Dialect) -> exp.Expr:
    """Parse a text of the guard itself, which may exceed the limits for agents.

    Raises:
        SqlRefused: It is not one statement of this dialect.
    """
    try:
        tokens = _GRAMMARS[dialect][0].tokenize(sql)
    except SqlglotError as error:
        raise _reading_error(error, dialect) from error
    return parse(tokens, sql, dialect)


def column_names(query: exp.Expr, outputs: Sequence[Column], dialect: Dialect) -> tuple[str, ...]:
    """Return the names of a query's output; an expression without an alias is named by its text."""
    while not isinstance(query, exp.Select):
        query = query.this
    # Writing may change a tree, so a copy of each expression is written.
    return tuple(
        column.name or render(item.copy(), dialect)[:MAX_NAME]
        for column, item in zip(outputs, query.expressions, strict=True)
    )


def _measure(tokens: list[Token]) -> None:
    depth = 0
    if sum(token.token_type == TokenType.L_BRACKET for token in tokens) > MAX_SUBSCRIPTS:
        message = f"There are more than {MAX_SUBSCRIPTS} square brackets: use fewer."
        raise refused("too_deep", message, "[")
    for token in tokens:
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
        if depth > MAX_NESTING:
            message = f"Brackets and CASE are nested deeper than {MAX_NESTING}: flatten the query."
            raise refused("too_deep", message)
        if depth < 0:
            raise refused("unbalanced", f"Unbalanced {token.text!r}.", token.text)
    if depth:
        raise refused("unbalanced", "A bracket or CASE is not closed.")


def _inspect_casts(tokens: Sequence[Token]) -> None:
    """Refuse `date '2026-01-01'::text`, which the parser interprets as a date of a text."""
    for kind, text, sign in zip(tokens, tokens[1:], tokens[2:], strict=False):
        typed = kind.token_type in _TYPES or kind.text.upper() in _ENDS_OF_TYPES
        if typed and (text.token_type, sign.token_type) == (TokenType.STRING, TokenType.DCOLON):
            message = (
                "Write CAST(date '...' AS text) instead of date '...'::text; this applies "
                "to all types."
            )
            raise refused("unreadable", message, f"{kind.text} '...'::")


def _reading_error(error: SqlglotError, dialect: Dialect) -> SqlRefused:
    found = getattr(error, "errors", None) or [{}]
    line, column, word = (found[0].get(key) for key in ("line", "col", "highlight"))
    before = str(found[0].get("start_context") or "").rstrip().upper()
    if before.endswith(("INTO", "OUTFILE", "DUMPFILE")) or str(word).upper() == "INTO":
        message = "SELECT ... INTO is not allowed: the rows come back to you."
        return refused("forbidden_syntax", message, "INTO")
    place = f" near {word!r} (line {line}, column {column})" if word else ""
    message = f"The statement is not a valid {dialect} SELECT{place}: correct it."
    return refused("unreadable", message, str(word or ""))
