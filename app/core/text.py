"""Conversion of texts and values to forms that can be encoded as UTF-8 and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import PurePath
from typing import Any

import orjson

_MAX_DEPTH = 64


def clean(text: str) -> str:
    """Replace lone surrogates, which file names and binary output can contain."""
    if text.isascii():  # known without a look at the text
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def scrub(value: Any, depth: int = 0) -> Any:
    """Return a copy of `value` that JSON can represent; valid scalars are unchanged."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Integers over 64 bits become text, because JSON readers would round them.
        return int(value) if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, list | tuple | set | frozenset):
        return [scrub(item, depth + 1) for item in value]
    # The dictionary first: an abstract class is slow to ask.
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101
        return {clean(str(key)): scrub(item, depth + 1) for key, item in value.items()}
    return scrub(json_default(value), depth + 1)


def dump_json(value: Any) -> bytes:
    """Return any value as JSON bytes; replace what JSON cannot represent instead of failing."""
    try:
        return orjson.dumps(value, json_default, orjson.OPT_NON_STR_KEYS)
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        # Lone surrogates, integers over 64 bits, too deep nesting, or unsupported types.
        return orjson.dumps(scrub(value), json_default, orjson.OPT_NON_STR_KEYS)


def json_default(value: Any) -> Any:
    """Return the JSON form of a value that JSON lacks."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, orjson.Fragment):
        return orjson.loads(value.contents)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath):
        return clean(str(value))
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return clean(str(value))


def truncate(text: str, limit: int, note: str = "… (truncated)") -> str:
    """Return at most `limit` characters of a text, including the note."""
    return text if len(text) <= limit else text[: max(0, limit - len(note))] + note
