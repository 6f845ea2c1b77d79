"""Unified diffs in bounded time and size, for people and models to check a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from app.operations.protocols.files import Edited
from app.toolkit.result import RawResult
from app.tools.files.text import count_lines, line_start, split_lines

_CONTEXT = 3
_MAX_ALIGNED_LINES = 2000
_MAX_CHARS = 20_000

Change = tuple[int, int, int, int]
"""Lines `[0]:[1]` of the old window become lines `[2]:[3]` of the new one."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Unified diff in `text`, cut if `truncated`; `added` and `removed` count lines."""

    path: str
    text: str
    added: int
    removed: int
    truncated: bool

    def raw_result(self) -> RawResult:
        """Return the data for a diff renderer."""
        return RawResult(
            "diff",
            {
                "path": self.path,
                "diff": self.text,
                "added": self.added,
                "removed": self.removed,
                "truncated": self.truncated,
            },
        )


def diff_of_edit(edited: Edited, encoding: str) -> FileDiff:
    """Return the diff of one write; characters invalid in `encoding` are replaced."""
    before = None if edited.before is None else edited.before.decode(encoding, "replace")
    after = None if edited.after is None else edited.after.decode(encoding, "replace")
    return unified_diff(edited.path, before, after)


def unified_diff(path: str, before: str | None, after: str | None) -> FileDiff:
    """Compare two texts; `before` is None for a new file, `after` for a deleted one.

    A change of more than 2000 lines is shown as one block, not aligned line by line:
    alignment takes quadratic time.
    """
    window = _window(before or "", after or "")
    changed = before != after and bool(window.old or window.new)
    aligned = window.old_lines + window.new_lines <= _MAX_ALIGNED_LINES
    changes = _changes(window) if aligned else []
    lines, truncated = _capped(_hunks(window, changes) if aligned else _block(window))
    old_name = "/dev/null" if before is None else f"a/{path}"
    new_name = "/dev/null" if after is None else f"b/{path}"
    head = [f"--- {old_name}", f"+++ {new_name}"]
    return FileDiff(
        path=path,
        text="\n".join([*head, *lines]) if changed else "",
        added=sum(change[3] - change[2] for change in changes) if aligned else window.new_lines,
        removed=sum(change[1] - change[0] for change in changes) if aligned else window.old_lines,
        truncated=truncated,
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """Differing part of two texts, in whole lines, with context lines.

    Attributes:
        line: number of lines before `above`.
    """

    line: int
    above: list[str]
    old: str
    new: str
    below: list[str]

    @property
    def old_lines(self) -> int:
        return count_lines(self.old)

    @property
    def new_lines(self) -> int:
        return count_lines(self.new)


def _window(old: str, new: str) -> _Window:
    head = old.rfind("\n", 0, _equal_at_start(old, new)) + 1
    tail = _equal_at_end(old, new, min(len(old), len(new)) - head)
    first_break = old.find("\n", len(old) - tail)
    tail = len(old) - first_break - 1 if tail and first_break >= 0 else 0
    above_from = head
    for _ in range(_CONTEXT):
        above_from = old.rfind("\n", 0, max(0, above_from - 1)) + 1
    below = len(old) - tail
    return _Window(
        line=old.count("\n", 0, above_from),
        above=split_lines(old[above_from:head]),
        old=old[head:below],
        new=new[head : len(new) - tail],
        below=split_lines(old[below : line_start(old, _CONTEXT, below)]),
    )


def _equal_at_start(old: str, new: str) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _equal_at_end(old: str, new: str, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        part_of_old = old[len(old) - middle : len(old) - low]
        if part_of_old == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _changes(window: _Window) -> list[Change]:
    """Yield the changes as line numbers of the window with its context."""
    shift = len(window.above)
    codes = SequenceMatcher(None, split_lines(window.old), split_lines(window.new)).get_opcodes()
    return [
        (shift + i1, shift + i2, shift + j1, shift + j2)
        for tag, i1, i2, j1, j2 in codes
        if tag != "equal"
    ]


def _block(window: _Window) -> Iterator[str]:
    """Yield everything as one hunk; only the shown part is split into lines."""
    around = len(window.above) + len(window.below)
    old_end = window.line + window.old_lines + around
    new_end = window.line + window.new_lines + around
    yield f"@@ -{_range(window.line, old_end)} +{_range(window.line, new_end)} @@"
    yield from _marked(" ", window.above)
    yield from _marked("-", split_lines(window.old[:_MAX_CHARS]))
    yield from _marked("+", split_lines(window.new[:_MAX_CHARS]))
    yield from _marked(" ", window.below)


def _hunks(window: _Window, changes: list[Change]) -> Iterator[str]:
    old = [*window.above, *split_lines(window.old), *window.below]
    new = [*window.above, *split_lines(window.new), *window.below]
    group: list[Change] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield from _hunk(old, new, group, window.line)
            group = []
        group.append(change)
    if group:
        yield from _hunk(old, new, group, window.line)


def _hunk(old: list[str], new: list[str], group: list[Change], line: int) -> Iterator[str]:
    start = max(0, group[0][0] - _CONTEXT)
    end = min(len(old), group[-1][1] + _CONTEXT)
    new_start = group[0][2] - (group[0][0] - start)
    new_end = group[-1][3] + (end - group[-1][1])
    old_range, new_range = (
        _range(line + start, line + end),
        _range(line + new_start, line + new_end),
    )
    yield f"@@ -{old_range} +{new_range} @@"
    position = start
    for i1, i2, j1, j2 in group:
        yield from _marked(" ", old[position:i1])
        yield from _marked("-", old[i1:i2])
        yield from _marked("+", new[j1:j2])
        position = i2
    yield from _marked(" ", old[position:end])


def _range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.rstrip("\r\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _capped(lines: Iterator[str]) -> tuple[list[str], bool]:
    kept: list[str] = []
    room = _MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return [*kept, "… diff cut here"], True
        kept.append(line)
    return kept, False
