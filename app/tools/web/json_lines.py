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
_MOST_GROWTH = 10
_SMALL = 10_000


def lined(source: str) -> str:
    """`source` with one value a line; as it is when it is no JSON, or too deep to read.

    Deep nesting has a page choose how many spaces stand before each of its values: what would
    grow much by them stays as it is, too.
    """
    try:
        json.loads(source, parse_int=_kept, parse_float=_kept, parse_constant=_kept)
    except (ValueError, RecursionError):
        return source
    pieces: list[str] = []
    depth, before, left = 0, "", _MOST_GROWTH * len(source) + _SMALL
    for match in _PARTS.finditer(source):
        part = match[0]
        closes = part in ("}", "]")
        depth -= closes
        starts_line = before != "" and (before not in ("{", "[") if closes else before in "{[,")
        shown = ": " if part == ":" else _readable(part)
        pieces.append(f"\n{_STEP * depth}{shown}" if starts_line else shown)
        left -= len(pieces[-1])
        if left < 0:
            return source
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
