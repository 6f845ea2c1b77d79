"""Parser of patches with the format `*** Begin Patch` … `*** End Patch`."""

from __future__ import annotations

import re

from app.tools.files.patch_model import (
    RANGE,
    Action,
    FilePatch,
    Hunk,
    Mark,
    hint_of,
    invalid_patch,
    line_of,
    plain_path,
    section_of,
)

_END = re.compile(r"\*\*\* ?End Patch(?: ?\*\*\*)?")
_HEADER = re.compile(r"\*\*\* ?(Add|Update|Delete|Move) File: *(.+)")
_MOVE_TO = re.compile(r"\*\*\* ?Move to: *(.+)")
_AT_END = "*** End of File"
_QUOTES = "`\"'"
_ACTIONS: dict[str, Action] = {"Add": "add", "Update": "update", "Delete": "delete"}
_MARKS: dict[str, Mark] = {" ": " ", "-": "-", "+": "+"}


def parse_v4a(text: str) -> list[FilePatch]:
    """Return the files of a patch.

    Raises:
        ToolFailed: `invalid_patch`, naming the line.
    """
    return _V4aReader(text.split("\n")).files()


class _V4aReader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = next(i for i, line in enumerate(lines) if line.strip())

    @property
    def _line(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def files(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        self._at += 1
        while (line := self._line) is not None and not _END.fullmatch(line.rstrip()):
            if line.strip():
                found.append(self._file(line))
            else:
                self._at += 1
        if self._line is None:
            raise invalid_patch("The patch does not end with '*** End Patch': it may be truncated")
        rest = next((i for i in range(self._at + 1, len(self._lines)) if self._lines[i].strip()), 0)
        if rest:
            raise invalid_patch("Unexpected text after '*** End Patch'", rest + 1)
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
        kind, path = header[1], bare_name(header[2])
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
        return FilePatch(plain_path(bare_name(old)), "update", hunks, plain_path(bare_name(new)))

    def _update(self, path: str) -> FilePatch:
        target = None
        began = self._at
        if (move := _MOVE_TO.fullmatch((self._line or "").rstrip())) is not None:
            target = plain_path(bare_name(move[1]))
            self._at += 1
        hunks = self._hunks()
        if not hunks and target is None:
            raise invalid_patch(f"No change below '*** Update File: {path}'", began)
        return FilePatch(plain_path(path), "update", hunks, target)

    def _added(self) -> Hunk:
        lines: list[tuple[Mark, str]] = []
        while (line := self._line) is not None and not line.startswith("*** "):
            if line.startswith("+"):
                lines.append(("+", line[1:]))
            elif line.strip():
                raise invalid_patch("Each line of an added file must start with '+'", self._at + 1)
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
        hints, place, section = self._hints()
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
        return Hunk(number, tuple(lines), place, hints, section, at_end)

    def _hints(self) -> tuple[tuple[str, ...], int | None, str]:
        """Parse the `@@` lines: preceding lines, and the position in the notation of unified
        diffs.
        """
        hints: list[str] = []
        place: int | None = None
        section = ""
        while (line := self._line) is not None and line.startswith("@@"):
            ranges = RANGE.match(line)
            if ranges is not None:
                place, section = line_of(ranges), section_of(ranges)
            elif hint := hint_of(line):
                hints.append(hint)
            self._at += 1
        return tuple(hints), place, section

    def _blank_before_header(self) -> bool:
        """Return whether the line before this one is empty, as models separate files."""
        line = self._line
        return line is not None and _ends_file(line) and self._lines[self._at - 1] == ""

    def _body(self, line: str) -> tuple[Mark, str]:
        if not line:
            return " ", ""  # an empty context line whose leading space was lost
        mark = _MARKS.get(line[0])
        if mark is None:
            raise invalid_patch(
                f"Lines of a change must start with ' ', '-' or '+', not {line[:1]!r}", self._at + 1
            )
        return mark, line[1:]


def bare_name(name: str) -> str:
    """Return a path without surrounding blanks and quotation marks."""
    name = name.strip()
    is_quoted = len(name) > 2 and name[0] in _QUOTES and name[-1] == name[0]
    return name[1:-1].strip() if is_quoted else name


def _ends_file(line: str) -> bool:
    line = line.rstrip()
    return _END.fullmatch(line) is not None or _HEADER.fullmatch(line) is not None
