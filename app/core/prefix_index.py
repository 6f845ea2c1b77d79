"""Detection of values that may be split across two pieces of text."""

from __future__ import annotations

from collections.abc import Iterable

_STEM = 3


class PrefixIndex:
    """Index of value prefixes by their first characters, for a single search."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_stem: dict[str, list[str]] = {}
        self._longest = 0
        for value in values:
            self._longest = max(self._longest, len(value))
            for length in range(1, _STEM + 1):
                self._by_stem.setdefault(value[:length], []).append(value)

    def at_end(self, text: str) -> int:
        """Return the number of characters at the end of `text` that start a longer value, or 0."""
        by_stem, end = self._by_stem, len(text)
        for start in range(max(0, end - self._longest + 1), end):
            found = by_stem.get(text[start : start + _STEM])
            if found is not None:
                rest = text[start:]
                if any(len(value) > len(rest) and value.startswith(rest) for value in found):
                    return end - start
        return 0
