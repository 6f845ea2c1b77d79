"""Excerpt of a text for a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.core.errors import ToolFailed
from app.tools.files.text import count_lines, line_start, split_lines

MAX_CHARS = 128_000
_NUMBER_WIDTH = 6
_USUAL = "utf-8"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines to show: from `start` to `end`, both from 1, by default the whole text.

    Attributes:
        limit: maximum lines.
        room: maximum characters.
    """

    start: int | None
    end: int | None
    limit: int
    room: int
    numbered: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines `start` to `end` of `total`; `cut` if the last one is incomplete.

    Attributes:
        strays: number of invalid bytes in the file.
    """

    path: str
    encoding: str
    lines: list[str]
    start: int
    total: int
    size: int
    wanted_end: int
    cut: bool
    strays: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.lines) - 1 if self.lines else 0

    @property
    def truncated(self) -> bool:
        return self.cut or self.end < self.wanted_end

    def to_data(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "content": "".join(self.lines),
            "encoding": self.encoding,
            "size": self.size,
            "total_lines": self.total,
            "start_line": self.start if self.lines else 0,
            "end_line": self.end,
            "truncated": self.truncated,
            **({"stray_bytes": self.strays} if self.strays else {}),
        }

    def to_text(self, *, numbered: bool) -> str:
        shown = f"{self.start if self.lines else 0}-{self.end}"
        encoding = "" if self.encoding == _USUAL else f" | Encoding: {self.encoding}"
        parts = [f"[File: {self.path} | Lines: {self.total} | Showing: {shown}{encoding}]"]
        for number, line in enumerate(self.lines, self.start):
            plain = line.rstrip("\r\n")
            parts.append(f"{number:>4}| {plain}" if numbered else plain)
        if self.strays:
            count = f"{self.strays} byte{'' if self.strays == 1 else 's'}"
            parts.append(rf"[{count} of the file are not UTF-8 and are shown like \xff]")
        if not self.total:
            parts.append("(empty file)")
        elif self.cut:
            parts.append(f"[Line {self.end} is truncated to {MAX_CHARS} characters]")
        elif self.truncated:
            parts.append(f"[More follows: continue with start_line={self.end + 1}]")
        return "\n".join(parts)


def cut_out(path: str, text: str, encoding: str, wanted: LineRange, strays: int = 0) -> Excerpt:
    """Return as many of the requested lines of `text` as fit.

    Raises:
        ToolFailed: `line_out_of_range`.
    """
    total = count_lines(text)
    start = wanted.start or 1
    if total and start > total:
        raise ToolFailed(
            f"start_line {start} is past the end: {path!r} has {total} lines",
            code="line_out_of_range",
            path=path,
            total_lines=total,
        )
    wanted_end = min(wanted.end or total, total)
    count = max(0, min(wanted_end - start + 1, wanted.limit))
    first = line_start(text, start - 1)
    lines = split_lines(text[first : line_start(text, count, first)])
    shown, cut = _within(lines, wanted.room, _NUMBER_WIDTH if wanted.numbered else 0)
    return Excerpt(path, encoding, shown, start, total, len(text), wanted_end, cut, strays)


def _within(lines: list[str], room: int, extra: int) -> tuple[list[str], bool]:
    """Return as many whole lines as fit; of a first line that is too long, its beginning."""
    for index, line in enumerate(lines):
        room -= len(line) + extra
        if room < 0:
            return (lines[:index], False) if index else ([line[:room]], True)
    return lines, False
