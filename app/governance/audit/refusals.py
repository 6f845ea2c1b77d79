"""How many refused sign-ins become rows: a flood must not fill the disk."""

from __future__ import annotations

PER_SOURCE = 10
PER_WINDOW = 100
WINDOW_S = 60.0


class Refusals:
    """Admits the first few of each source and window, and counts what it leaves out."""

    def __init__(self) -> None:
        self._began = float("-inf")
        self._rows = 0
        self._left_out = 0
        self._sources: dict[str, int] = {}

    def admit(self, source: str, now: float) -> int | None:
        """None when there is to be no row; else how many got none since the last row."""
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
