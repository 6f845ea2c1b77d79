"""Escaping of text that people decide on, so that nothing in it is invisible."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_PLAIN = re.compile(r"[ -~\n]*\Z")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks without a visible glyph, except U+FE0F, which belongs to emoji.
_EMPTY = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\U000e0100-\U000e01ef]"
)
# White space of this length can push the following text out of sight.
_PADDING = re.compile(r" {40,}|\n{8,}")
_MAX_DEPTH = 64
# Many JSON readers round larger integers, so a person would approve a different number.
MOST_EXACT = 2**53


def visible(text: str) -> str:
    """Return `text` with escaped control, direction, zero-width and similar characters.

    Line breaks are unchanged.
    """
    if _PLAIN.match(text):
        return text
    return "".join(map(_shown, text))


def unpadded(text: str) -> str:
    """Return `visible` text, with long white space replaced by its length."""
    return _PADDING.sub(_counted, visible(text))


def visible_json(value: Any, depth: int = 0) -> Any:
    """Return JSON with `unpadded` strings, and integers that readers would round as text."""
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
    """Return JSON with integers that readers would round as text."""
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
