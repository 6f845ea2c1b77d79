"""RFC 6901 JSON pointers: reading and replacing values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from app.core.errors import ToolFailed

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_BAD_ESCAPE = re.compile(r"~(?![01])")


def pointer(parts: Sequence[str | int]) -> str:
    """Build a pointer: `("a/b", 0)` → `/a~1b/0`; the whole value is the empty text."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def split(text: str) -> list[str]:
    """Return the parts of a pointer.

    Raises:
        ToolFailed: `bad_pointer`.
    """
    if text and not text.startswith("/"):
        raise ToolFailed(
            f"pointer {text[:100]!r} must be empty or start with '/', such as /items/0/name",
            code="bad_pointer",
        )
    if _BAD_ESCAPE.search(text):
        raise ToolFailed(
            f"pointer {text[:100]!r}: write ~0 for '~' and ~1 for '/'", code="bad_pointer"
        )
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def get(value: Any, at: str) -> Any:
    """Return the value at the pointer `at`.

    Raises:
        ToolFailed: `bad_pointer`, or `not_found` with the part that does not exist.
    """
    parts = split(at)
    for number, part in enumerate(parts):
        value = _step(value, part, parts[: number + 1])
    return value


def put(value: Any, at: str, new: Any) -> Any:
    """Return `value`, modified in place, with `new` at the pointer; `-` appends to an array.

    Raises:
        ToolFailed: see `get`; only the last part may be a new key.
    """
    parts = split(at)
    if not parts:
        return new
    holder = get(value, pointer(parts[:-1]))
    last = parts[-1]
    if isinstance(holder, dict):
        holder[last] = new
    elif isinstance(holder, list) and last in ("-", str(len(holder))):
        holder.append(new)
    else:
        _step(holder, last, parts)
        holder[int(last)] = new
    return value


def _step(value: Any, part: str, so_far: Sequence[str]) -> Any:
    if isinstance(value, dict):
        if part in value:
            return value[part]
        raise _nowhere(so_far, "there is no such key")
    if isinstance(value, list):
        if not _INDEX.fullmatch(part):
            raise _nowhere(so_far, "an array index must be a number from 0")
        if int(part) >= len(value):
            raise _nowhere(so_far, f"the array has {len(value)} items")
        return value[int(part)]
    raise _nowhere(so_far, "its parent is neither an object nor an array")


def _nowhere(parts: Sequence[str], why: str) -> ToolFailed:
    return ToolFailed(f"pointer {pointer(parts)[:200]!r}: {why}", code="not_found")
