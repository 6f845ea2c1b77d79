"""Patterns of tool names in the configuration."""

from __future__ import annotations

import re
from fnmatch import translate

_PLAIN = re.compile(r"[A-Za-z0-9_\-*?| ]*")


def compile_matcher(pattern: str) -> re.Pattern[str]:
    """Compile names and wildcards, such as `bash|write_*`, or a regular expression (`mcp__.*`).

    Use the result with `fullmatch`; it ignores case. A pattern of letters, digits, spaces, `_`,
    `-`, `*`, `?` and `|` consists of names and wildcards; any other character makes it a regular
    expression. An empty pattern, like `*`, matches every tool.

    Raises:
        ValueError: the pattern is not valid.
    """
    text = pattern.strip()
    if _PLAIN.fullmatch(text):
        parts = [part.strip() for part in text.split("|")] if text else ["*"]
        if not all(parts):
            raise ValueError(f"{pattern!r} contains an empty name between | characters")
        text = "|".join(translate(part) for part in parts)
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} is not a valid regular expression: {error}") from None
