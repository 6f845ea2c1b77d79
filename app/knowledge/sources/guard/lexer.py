"""Checks of a statement before parsing: characters, quotes and comments.

Only the guard's own text is ever executed, so nothing here determines what the database sees. It
refuses text that people and databases could read differently, with a clear message.
"""

from __future__ import annotations

import re
from typing import Final

from app.knowledge.sources.guard.model import Dialect, refused

MAX_CHARACTERS: Final = 20_000
"Maximum length of a statement in characters."

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


def inspect(sql: str, dialect: Dialect) -> None:
    """Refuse a text that could be read in several ways.

    Raises:
        SqlRefused: For control characters, executable comments and optimiser hints, comments
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
        message = "Executable comments and optimiser hints are not allowed: remove the comment."
        raise refused("executable_comment", message, comment)
    if "/*" in comment[2:]:
        raise refused("unbalanced", "Nested comments are not allowed.", comment)
