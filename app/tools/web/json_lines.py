"""JSON with one value per line, each value as written.

Parsing and writing numbers again would change large or exact ones, and drop duplicate keys.
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
    """Return `source` with one value per line; unchanged if it is not JSON or too deep.

    Deep nesting determines the indentation of each value: text that would grow too much also stays
    unchanged.
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
    """Return a text with escapes of letters decoded; everything else is unchanged."""
    if "\\u" not in part:
        return part
    text: Any = json.loads(part)
    try:
        text.encode()
    except UnicodeEncodeError:
        return part  # a lone surrogate
    return json.dumps(text, ensure_ascii=False)
