"""Positions in a text: callers' and servers' coordinates."""

from __future__ import annotations

import re
from typing import Any

from app.core.errors import ToolFailed

# Keywords before a definition in the languages of the supported servers.
_MODIFIERS = "async|export|default|public|private|protected|static|abstract|final|pub|unsafe"
_DEFINERS = (
    "def|class|function|func|fun|fn|struct|enum|trait|interface|type|module|let|const|var|val|void"
)


def to_units(line: str, column: int, encoding: str) -> int:
    """Convert characters before a position to units of the server's encoding."""
    before = line[:column]
    if encoding == "utf-32":
        return len(before)
    if encoding == "utf-8":
        return len(before.encode("utf-8", "replace"))
    return len(before.encode("utf-16-le", "replace")) // 2


def to_column(line: str, units: int, encoding: str) -> int:
    """Convert units of the server's encoding to characters before the position."""
    if encoding == "utf-32":
        return min(units, len(line))
    codec, width = ("utf-8", 1) if encoding == "utf-8" else ("utf-16-le", 2)
    return len(line.encode(codec, "replace")[: units * width].decode(codec, "ignore"))


def split(text: str) -> list[str]:
    """Return lines as the protocol counts them: `\\n`, `\\r\\n` and `\\r` end one."""
    return re.split(r"\r\n|\r|\n", text)


def locate(
    text: str, path: str, *, line: int | None, column: int | None, symbol: str | None
) -> tuple[int, int]:
    """Return the requested position, as zero-based line and character.

    A symbol is its first whole word on `line`; without a line, first a definition of that name is
    searched, then any occurrence in the file.

    Raises:
        ToolFailed: `position_not_found`.
    """
    lines = split(text)
    if line is not None and line > len(lines):
        raise _not_found(f"line {line} is past the end: {path!r} has {len(lines)} lines")
    if symbol is None:
        assert line is not None
        return line - 1, _column(lines[line - 1], line, column)
    word = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
    named = re.compile(
        rf"^\s*(?:(?:{_MODIFIERS})\s+)*(?:{_DEFINERS})\s+({re.escape(symbol)})(?!\w)"
    )
    for number in () if line is not None else range(len(lines)):
        if found := named.search(lines[number]):
            return number, found.start(1)
    for number in [line - 1] if line is not None else range(len(lines)):
        if found := word.search(lines[number]):
            return number, found.start()
    where = f"line {line} of {path!r}" if line is not None else repr(path)
    shown = f": it reads {lines[line - 1].strip()[:200]!r}" if line is not None else ""
    raise _not_found(f"{symbol!r} does not occur in {where}{shown}")


def _column(text: str, line: int, column: int | None) -> int:
    if column is None:
        return len(text) - len(text.lstrip())
    if column - 1 > len(text):
        raise _not_found(f"column {column} is past the end of line {line}, which has {len(text)}")
    return column - 1


def _not_found(message: str) -> ToolFailed:
    return ToolFailed(message, code="position_not_found")


def position(text: str, at: tuple[int, int], encoding: str) -> dict[str, int]:
    """Return a position from `locate` in the servers' form."""
    line, column = at
    return {"line": line, "character": to_units(split(text)[line], column, encoding)}


def start_of(span: Any) -> tuple[int, int]:
    """Return the zero-based start of a `Range`; (0, 0) if it is invalid."""
    start = span.get("start") if isinstance(span, dict) else None
    if not isinstance(start, dict):
        return 0, 0
    line, character = start.get("line"), start.get("character")
    if not isinstance(line, int) or not isinstance(character, int):
        return 0, 0
    return max(0, line), max(0, character)
