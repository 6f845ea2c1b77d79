"""Application of a file's hunks to its text; pure functions, linear in both."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

from app.tools.files.patch_model import FilePatch, Hunk
from app.tools.files.patch_place import LOOKS, TextLines
from app.tools.files.text import newline_of

_SHOWN = 100
_NAMED_PLACES = 10
_LOOKED_AT = 1000


class HunkMismatch(Exception):
    """A hunk matches no position; the message is for the caller."""

    def __init__(self, hunk: Hunk, message: str) -> None:
        super().__init__(message)
        self.hunk = hunk
        self.message = message


@dataclass(frozen=True, slots=True)
class PlacedHunk:
    """Position of an applied hunk.

    Attributes:
        line: line of the old text, from 1.
        offset: lines below the position in the patch, minus the offset of earlier hunks; 0 if the
            patch has none.
        overlooked: ignored differences.
    """

    number: int
    line: int
    offset: int = 0
    overlooked: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the form in results."""
        return {
            "hunk": self.number,
            "line": self.line,
            "offset": self.offset,
            "overlooked": list(self.overlooked),
        }


def apply_hunks(text: str, file: FilePatch) -> tuple[str, list[PlacedHunk]]:
    """Return the patched text, and the position of each hunk.

    Raises:
        HunkMismatch: the first hunk that does not match.
        ToolFailed: `patch_failed`: the search would take too long.
    """
    return _Patching(text, file).run()


class _Patching:
    def __init__(self, text: str, file: FilePatch) -> None:
        self._text = TextLines(text)
        self._hunks = file.hunks
        self._break = "\r" if newline_of(text) == "\r\n" else ""
        self._is_ended = self._text.is_ended
        # An unterminated last line has no line break to compare: it temporarily gets one.
        self._lends = bool(self._break) and not self._is_ended
        if self._lends:
            self._text.lines[-1] += self._break
        self._out: list[str] = []
        self._done = 0
        self._drift = 0
        self._to_come = Counter(hunk.old for hunk in file.hunks)
        self._hinted_to_come = Counter((hunk.hints, hunk.old) for hunk in file.hunks)

    def run(self) -> tuple[str, list[PlacedHunk]]:
        placed = [self._take(hunk) for hunk in self._hunks]
        self._out += self._text.lines[self._done :]
        if self._out and not self._is_ended and (self._lends or self._text.is_ended):
            self._out[-1] = self._out[-1].removesuffix(self._break)
        text = "\n".join(self._out)
        return (text + "\n" if self._is_ended and self._out else text), placed

    def _take(self, hunk: Hunk) -> PlacedHunk:
        self._to_come[hunk.old] -= 1
        self._hinted_to_come[hunk.hints, hunk.old] -= 1
        at, look = self._find(hunk)
        self._out += self._text.lines[self._done : at]
        self._write(hunk, at, look)
        self._done = at + len(hunk.old)
        if self._done == len(self._text) and hunk.lines:
            if hunk.new_open:
                self._is_ended = False
            elif hunk.old_open or not self._text.lines:
                self._is_ended = True
        offset = 0
        if hunk.line is not None:
            offset = at - (hunk.line - 1 + self._drift)
            self._drift += offset
        overlooked = [name for name in (LOOKS[look][0],) if name]
        if hunk.miscounted:
            overlooked.append("line counts")
        return PlacedHunk(hunk.number, at + 1, offset, tuple(overlooked))

    def _write(self, hunk: Hunk, at: int, look: int) -> None:
        exact = look == 0 and bool(hunk.old)
        for mark, text in hunk.lines:
            if mark == " ":
                self._out.append(self._text.lines[at])
            elif mark == "+":
                self._out.append(text if exact else text.removesuffix("\r") + self._break)
            at += mark != "+"

    def _find(self, hunk: Hunk) -> tuple[int, int]:
        """Return the line of the text, from 0, and the comparison that matched."""
        if not hunk.old:
            return self._insertion(hunk), 0
        starts = self._after_hints(hunk)
        expected = None if hunk.line is None else hunk.line - 1 + self._drift
        old = hunk.old
        if self._lends and hunk.old_open:
            old = (*old[:-1], old[-1] + self._break)
        for look, (_, looks) in enumerate(LOOKS):
            wanted = tuple(map(looks, old))
            at = self._fitting(hunk, look, wanted, starts, expected)
            if at is not None:
                return at, look
        raise HunkMismatch(hunk, self._mismatch(hunk, expected))

    def _fitting(
        self,
        hunk: Hunk,
        look: int,
        wanted: tuple[str, ...],
        starts: Sequence[int],
        expected: int | None,
    ) -> int | None:
        start = starts[0]
        if hunk.at_end or hunk.old_open or hunk.new_open:
            at = len(self._text) - len(wanted)
            return at if at >= start and self._text.holds(look, wanted, at) else None
        # A line that the file does not contain is ignored.
        if expected is not None and expected < len(self._text):
            return self._near(hunk, look, wanted, start, expected)
        found = list(islice(self._text.places(look, wanted, start, None), _LOOKED_AT))
        if hunk.hints:
            # The first position after each line that the hint may refer to.
            firsts = (bisect_left(found, after) for after in starts)
            found = sorted({found[first] for first in firsts if first < len(found)})
            more = self._hinted_to_come[hunk.hints, hunk.old]
        else:
            more = self._to_come[hunk.old]
        if len(found) > 1 + more:
            return self._in_section(hunk, found) or self._ambiguous(hunk, found)
        return found[0] if found else None

    def _near(
        self, hunk: Hunk, look: int, wanted: tuple[str, ...], start: int, expected: int
    ) -> int | None:
        """Return the expected position of the hunk, or else the single nearest one."""
        if expected >= start and self._text.holds(look, wanted, expected):
            return expected
        places = self._text.places(look, wanted, start, expected)
        found = list(islice(places, _NAMED_PLACES + 1))
        if len(found) < 2:
            return found[0] if found else None
        nearest, next_one = (abs(at - expected) for at in found[:2])
        if next_one > 2 * nearest:
            return found[0]
        return self._in_section(hunk, found) or self._ambiguous(hunk, found)

    def _in_section(self, hunk: Hunk, found: Sequence[int]) -> int | None:
        """Return the first match after the line named in the header, if that line is unique."""
        lines = self._text.hinted(hunk.section, 0) if hunk.section else ()
        if len(lines) != 1:
            return None
        return min((at for at in found if at > lines[0]), default=None)

    def _ambiguous(self, hunk: Hunk, found: Sequence[int]) -> NoReturn:
        places = sorted(at + 1 for at in found)
        numbers = ", ".join(map(str, places[:_NAMED_PLACES]))
        more = ", …" if len(places) > _NAMED_PLACES else ""
        raise HunkMismatch(
            hunk,
            f"its lines occur in more than one place (from line {numbers}{more}); add "
            "context lines, or an '@@' line that precedes it",
        )

    def _after_hints(self, hunk: Hunk, *, alone: bool = False) -> Sequence[int]:
        """Return the lines after the last hint, excluding already patched ones.

        There are several only if a single hint is ambiguous.
        """
        at = self._done
        starts = [at]
        for hint in hunk.hints:
            found = self._text.hinted(hint, at)
            if not found and hunk.line is None:
                raise HunkMismatch(hunk, f"no line {hint[:_SHOWN]!r} comes after line {at}")
            if alone and len(found) > 1:
                numbers = ", ".join(str(number + 1) for number in found[:10])
                raise HunkMismatch(hunk, f"{hint[:_SHOWN]!r} occurs on lines {numbers}")
            at = found[0] + 1 if found else at
            starts = [number + 1 for number in found] if len(hunk.hints) == 1 and found else [at]
        return starts

    def _insertion(self, hunk: Hunk) -> int:
        """Return the position of lines without context."""
        if hunk.line is not None:
            at = hunk.line - 1 + self._drift
            if not self._done <= at <= len(self._text):
                raise HunkMismatch(hunk, f"line {hunk.line} is not in the file")
            return at
        if hunk.hints and not hunk.at_end:
            return self._after_hints(hunk, alone=True)[0]
        return len(self._text)

    def _mismatch(self, hunk: Hunk, expected: int | None) -> str:
        shown = "\n".join(f"  {line[:_SHOWN]}" for line in hunk.old[:5])
        where = "" if hunk.line is None else f" (expected on line {hunk.line})"
        message = f"these lines{where} are not in the file:\n{shown}"
        nearest = self._text.nearest(hunk.old, expected)
        if nearest:
            return f"{message}\nNearest lines:\n{nearest}"
        return f"{message}\nNo line resembles them; read the file again"
