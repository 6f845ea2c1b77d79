"""Substring search in a column, for any characters."""

from __future__ import annotations

LIKE = "LIKE ? ESCAPE '!'"
"""Condition for `pattern_of`; ASCII letters match in either case."""


def pattern_of(query: str) -> str:
    """Return the pattern for a text that contains `query`."""
    escaped = query.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
