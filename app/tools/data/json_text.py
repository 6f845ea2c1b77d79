"""Strict conversion of JSON text: anything that parsers interpret differently is an error."""

from __future__ import annotations

import json
import math
from typing import Any

from app.core.errors import ToolFailed

MAX_DEPTH = 60
"""Maximum nesting; everything that processes a result supports at least this depth."""
_MAX_DIGITS = 1000


def parse(text: str, argument: str = "json_string") -> Any:
    """Parse a JSON text.

    Raises:
        ToolFailed: `json_parse_error`, `duplicate_key` or `too_deep`; the message starts with "JSON
            parse error: " and names the position, and `argument` if it is not the tool's main one.
    """
    whose = "" if argument == "json_string" else f"{argument}: "
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _refused(f"{whose}{error}") from None
    except _Duplicate as error:
        raise _refused(f"{whose}duplicate key {str(error)[:100]!r}", "duplicate_key") from None
    except ValueError as error:
        raise _refused(f"{whose}{error}") from None
    except RecursionError:
        raise _too_deep(whose) from None
    if depth_of(value) > MAX_DEPTH:
        raise _too_deep(whose)
    return value


def dump(value: Any, *, indent: int | None = None) -> str:
    """Return JSON text with non-ASCII characters unescaped; compact without `indent`."""
    separators = None if indent is not None else (",", ":")
    return json.dumps(value, indent=indent, ensure_ascii=False, separators=separators)


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal JSON: 1 equals 1.0, but not `true`."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            equal(item, right[key]) for key, item in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)


def depth_of(value: Any) -> int:
    """Return the nesting depth; 0 for anything but arrays and objects."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [
            child for item in level for child in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


class _Duplicate(Exception):
    """An object has a duplicate key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Duplicate(key)
            seen.add(key)
    return members


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number has more than {_MAX_DIGITS} digits")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON; use null or a number")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_number,
    parse_constant=_constant,
)


def _refused(reason: str, code: str = "json_parse_error") -> ToolFailed:
    return ToolFailed(f"JSON parse error: {reason}", code=code)


def _too_deep(whose: str) -> ToolFailed:
    return _refused(f"{whose}nested more than {MAX_DEPTH} levels deep", "too_deep")
