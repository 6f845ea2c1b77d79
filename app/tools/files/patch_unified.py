"""Parser of unified diffs, including those of git."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

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

_NOWHERE = "/dev/null"
_GIT = "diff --git "
_MARKS: dict[str, Mark] = {" ": " ", "-": "-", "+": "+"}
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
# Text after a name, for programs that write a space, not a tab, before it.
_BEHIND_NAME = re.compile(
    r"(?<!\s)\s+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[-+]\d\d:?\d\d|Z)?"
    r"|\w{3} \w{3} +\d{1,2} \d\d:\d\d:\d\d \d{4}(?: [-+]\d{4})?"
    r"|\((?:revision \d+|working copy|nonexistent)\))$"
)
_IsHeader = Callable[[int], bool]


@dataclass(slots=True)
class _Block:
    """Header of one file while its lines are parsed."""

    began: int
    old: str | None = None
    new: str | None = None
    is_git: bool = False
    is_new: bool = False
    is_gone: bool = False
    is_moved: bool = False
    old_mode: str | None = None
    mode: str | None = None
    hunks: list[Hunk] = field(default_factory=list)

    def finish(self) -> FilePatch:
        """Return the file's patch, without the prefixes `a/` and `b/`."""
        old, new = self._names()
        is_new, is_gone = self.is_new or old is None, self.is_gone or new is None
        path = new if old is None else old
        if path is None or (is_new and is_gone):
            raise invalid_patch("A file of the diff has no name", self.began + 1)
        action: Action = "add" if is_new else "delete" if is_gone else "update"
        target = new if action == "update" and new != old else None
        changed_mode = is_new or self.old_mode is not None
        executable = None if self.mode is None or not changed_mode else self.mode.endswith("755")
        if action == "update" and not self.hunks and target is None and executable is None:
            raise invalid_patch(f"No change below {path!r}", self.began + 1)
        return FilePatch(path, action, tuple(self.hunks), target, executable)

    def _names(self) -> tuple[str | None, str | None]:
        old, new = self.old, self.new
        if not self.is_moved and _prefixed(old, "a/") and _prefixed(new, "b/"):
            old = None if old is None else old.removeprefix("a/")
            new = None if new is None else new.removeprefix("b/")
        return (
            None if old is None else plain_path(old),
            None if new is None else plain_path(new),
        )


def _prefixed(name: str | None, prefix: str) -> bool:
    return name is None or name.startswith(prefix)


def parse_unified(text: str) -> list[FilePatch]:
    """Return the files of a diff; text before and between them is skipped.

    Raises:
        ToolFailed: `invalid_patch`, naming the line.
    """
    return _UnifiedReader(text.split("\n")).files()


class _UnifiedReader:
    def __init__(self, lines: list[str]) -> None:
        if lines and not lines[-1]:
            lines.pop()
        self._lines = lines
        self._at = 0
        self._block: _Block | None = None
        self._found: list[FilePatch] = []

    def files(self) -> list[FilePatch]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith(_GIT):
                self._begin(_Block(self._at, is_git=True))
                self._git_names(line.removeprefix(_GIT))
            elif self._is_header(self._at):
                self._header()
                continue
            elif line.startswith("@@"):
                self._hunk()
                continue
            elif self._block is not None and self._block.is_git and not self._block.hunks:
                self._extended(self._block, line)
            self._at += 1
        self._end()
        return self._found

    def _begin(self, block: _Block) -> None:
        self._end()
        self._block = block

    def _end(self) -> None:
        if self._block is not None:
            self._found.append(self._block.finish())
        self._block = None

    def _is_header(self, at: int) -> bool:
        return (
            at + 1 < len(self._lines)
            and self._lines[at].startswith("--- ")
            and self._lines[at + 1].startswith("+++ ")
        )

    def _header(self) -> None:
        block = self._block
        if block is None or not block.is_git or block.hunks:
            self._begin(_Block(self._at))
            block = self._block
        assert block is not None
        old, new = (name_of(self._lines[self._at + i][4:]) for i in (0, 1))
        if not block.is_moved:
            block.old, block.new = old, new
        self._at += 2

    def _git_names(self, names: str) -> None:
        """Parse `a/x b/x`; if the two differ, the lines below tell the names."""
        assert self._block is not None
        if names.startswith('"') and (end := names.find('" ', 1)) > 0:
            self._block.old, self._block.new = name_of(names[: end + 1]), name_of(names[end + 2 :])
            return
        old, new = names[: len(names) // 2], names[len(names) // 2 + 1 :]
        if old.partition("/")[2] == new.partition("/")[2] or old == new:
            self._block.old, self._block.new = old, new

    def _extended(self, block: _Block, line: str) -> None:
        for begins, side in (("rename from ", "old"), ("rename to ", "new")):
            if line.startswith(begins):
                block.is_moved = True
                setattr(block, side, name_of(line.removeprefix(begins)))
        word, _, mode = line.rpartition(" mode ")
        if word in ("old", "new", "new file", "deleted file"):
            if not mode.startswith("100"):
                raise invalid_patch(
                    f"Only regular files can be patched, not mode {mode}", self._at + 1
                )
            block.is_new |= word == "new file"
            block.is_gone |= word == "deleted file"
            if word == "old":
                block.old_mode = mode
            elif word != "deleted file":
                block.mode = mode
        if line.startswith(("copy from ", "GIT binary patch", "Binary files ")):
            raise invalid_patch(f"Not supported: {line[:60]!r}", self._at + 1)

    def _hunk(self) -> None:
        block = self._block
        if block is None:
            raise invalid_patch("A '@@' line without a file before it", self._at + 1)
        header = self._lines[self._at]
        stated = RANGE.match(header)
        self._at += 1
        body = _HunkBody(self._lines, self._at, self._is_header)
        line, section = None, ""
        hints: tuple[str, ...] = ()
        if stated is None:
            hint = hint_of(header)
            hints = (hint,) if hint else ()
            body.read_marked()
        else:
            section = section_of(stated)
            counts = [int(number or 1) if number != "0" else 0 for number in stated.group(2, 4)]
            body.read_counted(*counts)
            line = line_of(stated)
        self._at = body.at
        if not body.lines:
            raise invalid_patch("Nothing follows the '@@' line", self._at)
        block.hunks.append(
            Hunk(
                len(block.hunks) + 1,
                tuple(body.lines),
                line,
                hints,
                section,
                old_open=body.old_open,
                new_open=body.new_open,
                miscounted=body.miscounted,
            )
        )


class _HunkBody:
    """Lines of a hunk. Its counts decide; if they are wrong, the markers do."""

    def __init__(self, lines: list[str], at: int, is_header: _IsHeader) -> None:
        self._all = lines
        self._is_header = is_header
        self.at = at
        self.lines: list[tuple[Mark, str]] = []
        self.old_open = self.new_open = self.miscounted = False

    def read_counted(self, old: int, new: int) -> None:
        count = len(self._all)
        while (old > 0 or new > 0) and self.at < count:
            mark = _MARKS.get(self._all[self.at][:1] or " ")
            if mark is None:
                break
            if mark != "+":
                old -= 1
            if mark != "-":
                new -= 1
            self._take(mark)
        if old or new or self._goes_on():
            self.miscounted = True
            self.read_marked()

    def read_marked(self) -> None:
        while self._goes_on():
            self._take(_MARKS[self._all[self.at][0]])

    def _goes_on(self) -> bool:
        """Return whether another line of the hunk follows."""
        if self.at >= len(self._all) or self._is_header(self.at):
            return False
        return self._all[self.at][:1] in _MARKS and self._all[self.at] != "-- "

    def _take(self, mark: Mark) -> None:
        self.lines.append((mark, self._all[self.at][1:]))
        self.at += 1
        if self.at < len(self._all) and self._all[self.at].startswith("\\"):
            self.at += 1
            self.old_open |= mark != "+"
            self.new_open |= mark != "-"


def name_of(text: str) -> str | None:
    """Return a name in a header: without a timestamp, unquoted; None for no file."""
    if text.startswith('"'):
        name = _unquoted(text[1 : text.rfind('"')])
    else:
        name = _BEHIND_NAME.sub("", text.split("\t", 1)[0].rstrip())
    return None if name == _NOWHERE else name


def _unquoted(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8) & 0xFF) if len(code) == 3 else _ESCAPED.get(code, code)

    # git writes bytes; anything but an escape is already text.
    raw = _ESCAPE.sub(plain, "".join(map(chr, text.encode())))
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")
