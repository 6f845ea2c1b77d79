"""Search for the position of a hunk in a text: exact first, then with less exact comparisons."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches

from app.core.errors import ToolFailed

Look = Callable[[str], str]

LOOKS: tuple[tuple[str, Look], ...] = (
    ("", str),
    ("line endings", lambda line: line.removesuffix("\r")),
    ("trailing whitespace", str.rstrip),
)
"""Ignored differences with the normalized line; each also ignores those before it."""

_MAX_COMPARED = 5_000_000
_MOST_HINTED = 1000
_NEAR = 500
_COMMON = 50
_SHOWN_LINES = 5
_SHOWN = 100


class TextLines:
    """Lines of a text, by number and by content, under each of `LOOKS`."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.is_ended = not self.lines[-1]
        if self.is_ended:
            self.lines.pop()
        self._views: dict[int, list[str]] = {0: self.lines}
        self._indexes: dict[int, dict[str, list[int]]] = {}
        self._stripped: dict[str, list[int]] | None = None
        self._room = _MAX_COMPARED

    def __len__(self) -> int:
        return len(self.lines)

    def view(self, look: int) -> list[str]:
        """Return the normalized lines."""
        if look not in self._views:
            self._views[look] = list(map(LOOKS[look][1], self.lines))
        return self._views[look]

    def numbers(self, look: int, line: str) -> Sequence[int]:
        """Yield the line numbers that match `line`, from 0, ascending."""
        if look not in self._indexes:
            index: dict[str, list[int]] = {}
            for number, text in enumerate(self.view(look)):
                index.setdefault(text, []).append(number)
            self._indexes[look] = index
        return self._indexes[look].get(line, ())

    def hinted(self, hint: str, start: int) -> Sequence[int]:
        """Return the first lines from `start` that equal `hint`, or else start with it."""
        if self._stripped is None:
            self._stripped = {}
            for number, text in enumerate(self.lines):
                self._stripped.setdefault(text.strip(), []).append(number)
        numbers = self._stripped.get(hint, [])
        first = bisect_left(numbers, start)
        found = numbers[first : first + _MOST_HINTED]
        if found:
            return found
        self._spend(len(self.lines) - start)
        return [
            number
            for number in range(start, len(self.lines))
            if self.lines[number].lstrip().startswith(hint)
        ]

    def holds(self, look: int, wanted: Sequence[str], at: int) -> bool:
        """Return whether `wanted` occurs at line `at`.

        Raises:
            ToolFailed: `patch_failed`: the text is so repetitive that the search would take too
                long.
        """
        view = self.view(look)
        if at < 0 or at + len(wanted) > len(view):
            return False
        for count, line in enumerate(wanted):
            if view[at + count] != line:
                self._spend(count + 1)
                return False
        self._spend(len(wanted))
        return True

    def _spend(self, compared: int) -> None:
        self._room -= compared
        if self._room < 0:
            raise ToolFailed(
                "The file is too repetitive to locate the patch; use edit_file with "
                "line numbers; no files were modified",
                code="patch_failed",
            )

    def places(
        self, look: int, wanted: Sequence[str], start: int, expected: int | None
    ) -> Iterator[int]:
        """Yield positions of `wanted` from line `start`: nearest to `expected` first, or in order.

        `wanted` is not empty.
        """
        found = [(len(self.numbers(look, line)), offset) for offset, line in enumerate(wanted)]
        _, offset = min(found)
        anchors = self.numbers(look, wanted[offset])
        first = bisect_left(anchors, start + offset)
        if expected is None:
            ordered: Iterator[int] = iter(anchors[first:])
        else:
            ordered = _outward(anchors, first, expected + offset)
        for anchor in ordered:
            if self.holds(look, wanted, anchor - offset):
                yield anchor - offset

    def nearest(self, wanted: Sequence[str], expected: int | None) -> str:
        """Return the numbered lines that resemble `wanted` most; empty if none do."""
        look = len(LOOKS) - 1
        votes: Counter[int] = Counter()
        for offset, line in enumerate(wanted[:200]):
            numbers = self.numbers(look, line.rstrip())
            if line.strip() and len(numbers) <= _COMMON:
                votes.update(number - offset for number in numbers)
        if votes:
            most = max(votes.values())
            likely = [start for start, count in votes.items() if count == most]
            begin = min(likely, key=lambda start: abs(start - (expected or 0)))
            return self._shown(begin + _first_other(self.view(look), wanted, begin))
        begin = max(0, (expected or 0) - _NEAR)
        view = [line.strip()[:_SHOWN] for line in self.lines[begin : begin + 2 * _NEAR]]
        first = next((line.strip() for line in wanted if line.strip()), "")
        close = get_close_matches(first[:_SHOWN], view, n=1, cutoff=0.6)
        return self._shown(begin + view.index(close[0])) if close else ""

    def _shown(self, at: int) -> str:
        begin = max(0, min(at, len(self.lines) - 1) - 1)
        lines = self.lines[begin : begin + _SHOWN_LINES]
        return "\n".join(
            f"{begin + count + 1}| {line.rstrip()[:_SHOWN]}" for count, line in enumerate(lines)
        )


def _first_other(view: Sequence[str], wanted: Sequence[str], begin: int) -> int:
    """Return the number of leading lines of `wanted` that match."""
    for count, line in enumerate(wanted):
        at = begin + count
        if not 0 <= at < len(view) or view[at] != line.rstrip():
            return count
    return 0


def _outward(anchors: Sequence[int], first: int, middle: int) -> Iterator[int]:
    """Yield `anchors[first:]`, nearest to `middle` first."""
    right = max(first, bisect_left(anchors, middle))
    left = right - 1
    while left >= first or right < len(anchors):
        if right >= len(anchors):
            takes_left = True
        else:
            takes_left = left >= first and middle - anchors[left] <= anchors[right] - middle
        if takes_left:
            yield anchors[left]
            left -= 1
        else:
            yield anchors[right]
            right += 1
