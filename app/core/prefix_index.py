"""Whether the end of a text is the beginning of a value that the next piece may complete."""

from __future__ import annotations

from collections.abc import Iterable

_STEM = 3


class PrefixIndex:
    """What some values begin with, found by their first characters: one search for all of them."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_stem: dict[str, list[str]] = {}
        self._longest = 0
        for value in values:
            self._longest = max(self._longest, len(value))
            for length in range(1, _STEM + 1):
                self._by_stem.setdefault(value[:length], []).append(value)

    def at_end(self, text: str) -> int:
        """How many characters at the end of `text` begin a longer value; 0 for none."""
        by_stem, end = self._by_stem, len(text)
        for start in range(max(0, end - self._longest + 1), end):
            found = by_stem.get(text[start : start + _STEM])
            if found is not None:
                rest = text[start:]
                if any(len(value) > len(rest) and value.startswith(rest) for value in found):
                    return end - start
        return 0
