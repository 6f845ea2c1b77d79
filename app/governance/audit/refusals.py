"""Limit on audit rows of refused sign-ins, so that repeated ones do not fill the disk."""

from __future__ import annotations

PER_SOURCE = 10
PER_WINDOW = 100
WINDOW_S = 60.0


class Refusals:
    """Admits the first few refusals of each source and window, and counts the rest."""

    def __init__(self) -> None:
        self._began = float("-inf")
        self._rows = 0
        self._left_out = 0
        self._sources: dict[str, int] = {}

    def admit(self, source: str, now: float) -> int | None:
        """Return None if no row is to be written, otherwise the number of rows omitted since the
        last.
        """
        if now - self._began >= WINDOW_S:
            self._began, self._rows = now, 0
            self._sources.clear()
        seen = self._sources.get(source, 0)
        if seen >= PER_SOURCE or self._rows >= PER_WINDOW:
            self._left_out += 1
            return None
        self._sources[source] = seen + 1
        self._rows += 1
        left_out, self._left_out = self._left_out, 0
        return left_out
