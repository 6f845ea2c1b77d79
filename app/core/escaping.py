"""Text that a person decides on: nothing in it may hide."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_PLAIN = re.compile(r"[ -~\n]*\Z")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that are drawn as nothing; U+FE0F belongs to emoji.
_EMPTY = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\U000e0100-\U000e01ef]"
)
# So much emptiness pushes what follows out of sight.
_PADDING = re.compile(r" {40,}|\n{8,}")
_MAX_DEPTH = 64
# JSON readers that know one kind of number round what is beyond; a person would approve another.
MOST_EXACT = 2**53


def visible(text: str) -> str:
    """`text` with controls, direction marks, zero-width characters and the like written out.

    Line breaks stay.
    """
    if _PLAIN.match(text):
        return text
    return "".join(map(_shown, text))


def unpadded(text: str) -> str:
    """`visible`, and long runs of emptiness are counted instead of shown."""
    return _PADDING.sub(_counted, visible(text))


def visible_json(value: Any, depth: int = 0) -> Any:
    """Any JSON value with `unpadded` strings; numbers that its readers would round are text."""
    if isinstance(value, str):
        return unpadded(value)
    if isinstance(value, int) and abs(value) > MOST_EXACT:
        return str(value)
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {unpadded(str(key)): visible_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible_json(item, depth + 1) for item in value]
    return value


def exact_json(value: Any, depth: int = 0) -> Any:
    """Any JSON value with numbers as text that its readers would round."""
    if isinstance(value, int) and abs(value) > MOST_EXACT:
        return str(value)
    if isinstance(value, dict | list | tuple) and depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {key: exact_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [exact_json(item, depth + 1) for item in value]
    return value


def _counted(match: re.Match[str]) -> str:
    kind = "spaces" if match[0][0] == " " else "line breaks"
    return f"⟨{len(match[0])} {kind}⟩"


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or _EMPTY.match(character) is not None


def _shown(character: str) -> str:
    if character == "\n" or not _is_hidden(character):
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
