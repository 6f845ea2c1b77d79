"""JSON with one value a line, each value as it was written.

Reading numbers and writing them again changes what is large or exact, and of a key that is there
twice it keeps one.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_STEP = "  "


def lined(source: str) -> str:
    """`source` with one value a line; as it is when it is no JSON, or too deep to read."""
    try:
        json.loads(source, parse_int=_kept, parse_float=_kept, parse_constant=_kept)
    except (ValueError, RecursionError):
        return source
    pieces: list[str] = []
    depth, before = 0, ""
    for part in _PARTS.findall(source):
        if part in "}]":
            depth -= 1
            pieces.append(part if before in ("{", "[") else f"\n{_STEP * depth}{part}")
        else:
            if before in ("{", "[", ","):
                pieces.append(f"\n{_STEP * depth}")
            pieces.append(": " if part == ":" else _readable(part))
            depth += part in ("{", "[")
        before = part
    return "".join(pieces)


def _kept(text: str) -> str:
    return text


def _readable(part: str) -> str:
    """A text with its letters instead of their numbers; everything else as it is."""
    if "\\u" not in part:
        return part
    text: Any = json.loads(part)
    try:
        text.encode()
    except UnicodeEncodeError:
        return part  # half a letter
    return json.dumps(text, ensure_ascii=False)
