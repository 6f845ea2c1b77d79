"""Parsing of JSON from clients."""

from __future__ import annotations

from json import JSONDecodeError
from typing import Any

import orjson

MAX_LEVELS = 100
"""Maximum nesting depth of JSON from clients. Much deeper values cannot be serialized again and
would fail later, in a log, an event or a table."""


def read_json(text: bytes | str) -> Any:
    """Return the value of a JSON text.

    Raises:
        JSONDecodeError: the text is not UTF-8 JSON, or is nested too deeply.
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
