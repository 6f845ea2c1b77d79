"""Reading patches of the form `*** Begin Patch` … `*** End Patch`."""

from __future__ import annotations

import re

from app.tools.files.patch_model import (
    RANGE,
    Action,
    FilePatch,
    Hunk,
    Mark,
    invalid_patch,
    line_of,
    plain_path,
)

BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_HEADER = re.compile(r"\*\*\* (Add|Update|Delete|Move) File: (.+)")
_MOVE_TO = "*** Move to: "
_AT_END = "*** End of File"
_ACTIONS: dict[str, Action] = {"Add": "add", "Update": "update", "Delete": "delete"}
_MARKS: dict[str, Mark] = {" ": " ", "-": "-", "+": "+"}


def parse_v4a(text: str) -> list[FilePatch]:
    """The files of a patch.

    Raises:
        ToolFailed: `invalid_patch`, naming the line.
    """
    return _Reader(text.split("\n")).files()


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = next(i for i, line in enumerate(lines) if line.strip())

    @property
    def _line(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def files(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        self._at += 1
        while (line := self._line) is not None and line.rstrip() != _END:
            if line.strip():
                found.append(self._file(line))
            else:
                self._at += 1
        if self._line is None:
            raise invalid_patch(f"The patch does not end with {_END!r}: it may be cut off")
        rest = next((i for i in range(self._at + 1, len(self._lines)) if self._lines[i].strip()), 0)
        if rest:
            raise invalid_patch(f"Something follows {_END!r}", rest + 1)
        return found

    def _file(self, line: str) -> FilePatch:
        header = _HEADER.fullmatch(line.rstrip())
        if header is None:
            raise invalid_patch(
                f"Expected '*** Add File: path', '*** Update File: path', '*** Delete File: path'"
                f" or '*** Move File: old -> new', found {line[:80]!r}",
                self._at + 1,
            )
        self._at += 1
        kind, path = header[1], header[2].strip()
        if kind == "Move":
            return self._move(path)
        if kind == "Delete":
            return FilePatch(plain_path(path), "delete")
        if kind == "Add":
            return FilePatch(plain_path(path), "add", (self._added(),))
        return self._update(path)

    def _move(self, path: str) -> FilePatch:
        old, arrow, new = path.partition(" -> ")
        if not arrow or not new.strip():
            raise invalid_patch("Write '*** Move File: old -> new'", self._at)
        hunks = self._hunks()
        return FilePatch(plain_path(old.strip()), "update", hunks, plain_path(new.strip()))

    def _update(self, path: str) -> FilePatch:
        target = None
        began = self._at
        if (line := self._line) is not None and line.startswith(_MOVE_TO):
            target = plain_path(line.removeprefix(_MOVE_TO).strip())
            self._at += 1
        hunks = self._hunks()
        if not hunks and target is None:
            raise invalid_patch(f"There is no change below '*** Update File: {path}'", began)
        return FilePatch(plain_path(path), "update", hunks, target)

    def _added(self) -> Hunk:
        lines: list[tuple[Mark, str]] = []
        while (line := self._line) is not None and not line.startswith("*** "):
            if line.startswith("+"):
                lines.append(("+", line[1:]))
            elif line.strip():
                raise invalid_patch("Each line of an added file begins with '+'", self._at + 1)
            self._at += 1
        return Hunk(1, tuple(lines))

    def _hunks(self) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        while (line := self._line) is not None and not _ends_file(line):
            hunk = self._hunk(len(hunks) + 1)
            if hunk is not None:
                hunks.append(hunk)
        return tuple(hunks)

    def _hunk(self, number: int) -> Hunk | None:
        began = self._at
        hints, place = self._hints()
        lines: list[tuple[Mark, str]] = []
        at_end = False
        while (line := self._line) is not None and not line.startswith("@@"):
            if line.rstrip() == _AT_END:
                at_end = True
                self._at += 1
                break
            if _ends_file(line):
                break
            lines.append(self._body(line))
            self._at += 1
        while lines and lines[-1] == (" ", "") and self._blank_before_header():
            lines.pop()
        if not lines:
            if hints or place is not None:
                raise invalid_patch("Nothing follows the '@@' line", began + 1)
            return None
        return Hunk(number, tuple(lines), place, hints, at_end)

    def _hints(self) -> tuple[tuple[str, ...], int | None]:
        """What the `@@` lines say: lines that come before, and the place, as models write it
        that know unified diffs better."""
        hints: list[str] = []
        place: int | None = None
        while (line := self._line) is not None and line.startswith("@@"):
            ranges = RANGE.match(line)
            hint = line[2:].strip().removesuffix("@@").strip()
            if ranges is not None:
                place = line_of(ranges)
            elif hint:
                hints.append(hint)
            self._at += 1
        return tuple(hints), place

    def _blank_before_header(self) -> bool:
        """Whether the line before this one is empty: models part files with empty lines."""
        line = self._line
        return line is not None and _ends_file(line) and self._lines[self._at - 1] == ""

    def _body(self, line: str) -> tuple[Mark, str]:
        if not line:
            return " ", ""  # an empty kept line whose blank was lost on the way
        mark = _MARKS.get(line[0])
        if mark is None:
            raise invalid_patch(
                f"Lines of a change begin with ' ', '-' or '+', not {line[:1]!r}", self._at + 1
            )
        return mark, line[1:]


def _ends_file(line: str) -> bool:
    return line.rstrip() == _END or _HEADER.fullmatch(line.rstrip()) is not None
