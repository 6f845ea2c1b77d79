"""Looking for a piece of text in a column, whatever characters it holds."""

from __future__ import annotations

LIKE = "LIKE ? ESCAPE '!'"
"""The condition for `pattern_of`; ASCII letters match in either case."""


def pattern_of(query: str) -> str:
    """The pattern for a text that holds `query`."""
    escaped = query.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
