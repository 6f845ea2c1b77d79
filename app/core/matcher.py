"""Name patterns of the configuration, and the tools they match."""

from __future__ import annotations

import re
from fnmatch import translate

_PLAIN = re.compile(r"[A-Za-z0-9_\-*?| ]*")


def compile_matcher(pattern: str) -> re.Pattern[str]:
    """For `fullmatch`: `bash|write_*` in any case, or a regular expression such as `mcp__.*`.

    Letters, digits, `_`, `-`, `*`, `?` and `|` alone are names and wildcards; anything else
    makes it a regular expression. Nothing, like `*`, means every tool.

    Raises:
        ValueError: it is neither.
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
