"""Reading JSON that a client sent."""

from __future__ import annotations

from json import JSONDecodeError
from typing import Any

import orjson

MAX_LEVELS = 100
"""Deepest nesting of what a client sends. What is much deeper cannot be written again, so it
would fail later, in a log, an event or a table."""


def read_json(text: bytes | str) -> Any:
    """The value of a JSON text.

    Raises:
        JSONDecodeError: it is not JSON in UTF-8, or it nests too deeply.
    """
    value = orjson.loads(text)
    if isinstance(text, bytes):
        opened = text.count(b"[") + text.count(b"{")
    else:
        opened = text.count("[") + text.count("{")
    if opened > MAX_LEVELS and _levels_exceed(value):
        raise JSONDecodeError(f"nested more than {MAX_LEVELS} levels deep", "", 0)
    return value


def _levels_exceed(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
