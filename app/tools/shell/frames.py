"""Final terminal state of a text: the last frame of lines that were redrawn.

Programs draw progress by going back in their line (carriage return, backspace, escape sequences) or
up to earlier lines. Only the last frame is useful to a reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_ROWS = 100
"""Maximum lines that a program may move up to redraw."""
_COLUMNS = 300
"""Maximum columns that a program may skip: each becomes a blank."""
_CHARS = 20_000
"""Maximum length of the text that may still be redrawn; longer parts are final."""
_DRAWS = re.compile(r"\r(?!\n)|\x08|\x1b\[[0-9;]*[A-GJKP]")
_PIECES = re.compile(
    r"\r++\n?|\n|\x08|[^\r\n\x08\x1b]++"
    r"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?",
    re.DOTALL,
)
_UNFINISHED = re.compile(r"(?:\r+|\x1b(?:\[[0-?]{0,60}[ -/]{0,4})?)\Z")
_ROW_STEPS = {"A": -1, "F": -1, "B": 1, "E": 1}
_COLUMN_STEPS = {"C": 1, "D": -1}
_NUMBER = re.compile(r"\d{1,6}")


class Frames:
    """Incremental filter that passes on text once it can no longer be redrawn.

    Args:
        settled: called with final text, in order.
    """

    def __init__(self, settled: Callable[[str], None]) -> None:
        self._settled = settled
        self._held = ""  # an incomplete escape sequence
        self._text = ""  # text that may be redrawn, with the cursor at its end
        self._screen: _Screen | None = None

    def add(self, text: str) -> None:
        text, self._held = self._held + text, ""
        unfinished = _UNFINISHED.search(text, max(0, len(text) - 100))
        if unfinished is not None:
            text, self._held = text[: unfinished.start()], unfinished[0]
        self._take(text)

    def finish(self) -> None:
        """Pass on the rest at the end."""
        # A trailing carriage return draws nothing.
        held, self._held = self._held.rstrip("\r"), ""
        self._take(held)
        rest = self._text if self._screen is None else str(self._screen)
        self._text, self._screen = "", None
        self._settled(rest)

    def _take(self, text: str) -> None:
        if self._screen is None and _DRAWS.search(text) is None:
            self._text += text
            self._trim()
            return
        screen = self._screen or _Screen(self._text)
        self._text, self._screen = "", screen
        for piece in _PIECES.findall(text):
            screen.take(piece)
        self._settled(screen.overflow())
        if screen.is_at_end or screen.is_full:
            self._text, self._screen = str(screen), None
            self._trim()

    def _trim(self) -> None:
        if len(self._text) <= 2 * _CHARS:
            return
        end = self._text[-_CHARS:]
        above, *rows = end.rsplit("\n", _ROWS)
        kept = len(end) - len(above) - 1 if len(rows) == _ROWS else len(end)
        self._settled(self._text[: len(self._text) - kept])
        self._text = self._text[len(self._text) - kept :]


class _ScreenLine:
    """Line being redrawn, with the position of the cursor."""

    def __init__(self, text: str) -> None:
        self.cells: list[str] = []
        self.at = 0
        self._blanks = 0  # number of leading cells known to be blank
        self.end = "\r" if text.endswith("\r") else ""
        self._before = ""  # colors of the next letter
        for piece in _PIECES.findall(text.removesuffix("\r")):
            if piece.startswith("\x1b"):
                self.colour(piece)
            else:
                self.write(piece)

    def write(self, text: str) -> None:
        cells = [self._before + text[0], *text[1:]]
        self._before = ""
        self.cells += " " * (self.at - len(self.cells))
        self._blanks = min(self._blanks, self.at)
        self.cells[self.at : self.at + len(cells)] = cells
        self.at += len(cells)

    def go(self, column: int) -> None:
        self.at = min(max(0, column), max(_COLUMNS, len(self.cells)))

    def colour(self, sequence: str) -> None:
        self._before = (self._before + sequence)[-200:]

    def erase(self, how: int) -> None:
        """Erase to its end, to its beginning, or completely."""
        if how != 1:
            self.delete(self.at if how == 0 else 0, len(self.cells))
            return
        end = min(self.at, len(self.cells))
        if end > self._blanks:
            self.cells[self._blanks : end] = [" "] * (end - self._blanks)
            self._blanks = end

    def delete(self, start: int, stop: int) -> None:
        del self.cells[start:stop]
        self._blanks = min(self._blanks, start)

    def __str__(self) -> str:
        return "".join(self.cells) + self._before + self.end


class _Screen:
    """End of a text as rows; only rows being redrawn are split into cells."""

    def __init__(self, text: str) -> None:
        self._rows: list[str | _ScreenLine] = list(text.split("\n"))
        self._row = len(self._rows) - 1

    @property
    def is_at_end(self) -> bool:
        line = self._line()
        return self._row == len(self._rows) - 1 and line.at == len(line.cells)

    @property
    def is_full(self) -> bool:
        """Return whether a row is longer than any that a program redraws."""
        return len(self._line().cells) > _CHARS

    def overflow(self) -> str:
        """Remove and return the rows too far up to be redrawn."""
        over = min(len(self._rows) - _ROWS, self._row)
        if over <= 0:
            return ""
        gone = "".join(f"{row}\n" for row in self._rows[:over])
        del self._rows[:over]
        self._row -= over
        return gone

    def take(self, piece: str) -> None:
        """Apply letters, or one escape sequence that moves, erases or colors."""
        line = self._line()
        if piece.endswith("\n"):
            line.end = piece[-2:-1]
            self._go(1, column=0)
        elif piece.startswith("\r"):
            line.at = 0
        elif piece == "\x08":
            line.at = max(0, line.at - 1)
        elif not piece.startswith("\x1b"):
            line.write(piece)
        elif piece.startswith("\x1b[") and not piece.endswith("m"):
            found = _NUMBER.search(piece)
            self._control(line, piece[-1], int(found[0]) if found else 0)
        else:
            line.colour(piece)

    def _control(self, line: _ScreenLine, kind: str, number: int) -> None:
        steps = max(1, number)
        if kind in _ROW_STEPS:
            self._go(_ROW_STEPS[kind] * steps, column=line.at if kind in "AB" else 0)
        elif kind in _COLUMN_STEPS:
            line.go(line.at + _COLUMN_STEPS[kind] * steps)
        elif kind == "G":
            line.go(steps - 1)
        elif kind == "P":
            line.delete(line.at, line.at + steps)
        elif kind in "KJ":
            line.erase(number)
            if kind == "J":
                del self._rows[self._row + 1 :]

    def _go(self, steps: int, *, column: int) -> None:
        self._row = max(0, self._row + min(steps, _ROWS))
        while self._row >= len(self._rows):
            self._rows.append("")
        self._line().at = column

    def _line(self) -> _ScreenLine:
        row = self._rows[self._row]
        if isinstance(row, str):
            row = self._rows[self._row] = _ScreenLine(row)
        return row

    def __str__(self) -> str:
        return "\n".join(map(str, self._rows))


def last_frames(text: str) -> str:
    """Return what a terminal would finally show of `text`."""
    if _DRAWS.search(text) is None:
        return text
    pieces: list[str] = []
    frames = Frames(pieces.append)
    frames.add(text)
    frames.finish()
    return "".join(pieces)
