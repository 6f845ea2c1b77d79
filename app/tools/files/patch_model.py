"""Parsed patch, for both patch formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from app.core.errors import ToolFailed

Mark = Literal[" ", "-", "+"]
Action = Literal["add", "update", "delete"]
MAX_FILES = 200
RANGE = re.compile(r"@@ ?-(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? ?(?:@@(.*)|$)")
"""Line that starts a hunk of a unified diff, optionally followed by a preceding line of the
file.
"""

_NO_HINT = re.compile(r"[.\s]*|…|[-+][\dxXnNmM?,]*(?:\s+[-+][\dxXnNmM?,]*)?")


@dataclass(frozen=True)
class Hunk:
    """One changed place of a file.

    Attributes:
        number: number in its file, from 1.
        lines: context, removed and added lines in order, without line breaks.
        line: start in the old file, from 1; None if the patch does not contain it.
        hints: lines that precede it, in order.
        section: preceding line named in its header; only to choose between matches.
        at_end: it extends to the end of the file.
        old_open, new_open: the old or new file ends here without a line break.
        miscounted: the line counts in its header are wrong.
    """

    number: int
    lines: tuple[tuple[Mark, str], ...]
    line: int | None = None
    hints: tuple[str, ...] = ()
    section: str = ""
    at_end: bool = False
    old_open: bool = False
    new_open: bool = False
    miscounted: bool = False

    @cached_property
    def old(self) -> tuple[str, ...]:
        """Return the lines that must exist."""
        return tuple(text for mark, text in self.lines if mark != "+")


@dataclass(frozen=True, slots=True)
class FilePatch:
    """Change of one file.

    Attributes:
        target: new path of a moved file.
        executable: whether it is executable afterwards; None for unchanged.
    """

    path: str
    action: Action
    hunks: tuple[Hunk, ...] = ()
    target: str | None = None
    executable: bool | None = None


def invalid_patch(message: str, line: int | None = None) -> ToolFailed:
    """Return the error for an invalid patch; `line` of the patch, from 1."""
    where = "" if line is None else f" (line {line} of the patch)"
    return ToolFailed(f"{message}{where}; no files were modified", code="invalid_patch", line=line)


def line_of(ranges: re.Match[str]) -> int:
    """Return the start of a hunk with a `RANGE` in the old file, from 1."""
    # `-4,0` is after line 4, everything else is at its first line.
    return int(ranges[1]) + (ranges[2] is not None and not int(ranges[2]))


def section_of(ranges: re.Match[str]) -> str:
    """Return the line after a `RANGE`."""
    return (ranges[5] or "").strip()


def hint_of(header: str) -> str:
    """Return the line named by an `@@` line; empty for dots and for ranges without numbers."""
    hint = header.strip().strip("@").strip()
    return "" if _NO_HINT.fullmatch(hint) else hint


def paths_of(files: Iterable[FilePatch]) -> list[str]:
    """Return every path that a patch touches, without duplicates."""
    named = (path for file in files for path in (file.path, file.target) if path is not None)
    return list(dict.fromkeys(named))


def checked(files: Sequence[FilePatch]) -> tuple[FilePatch, ...]:
    """Return the files of a patch, if there are any and not too many."""
    if not files:
        raise invalid_patch(
            "The patch is empty: use '*** Begin Patch' … '*** End Patch', or a "
            "unified diff with '--- a/file', '+++ b/file' and '@@' lines"
        )
    if len(files) > MAX_FILES:
        raise invalid_patch(
            f"A patch can change at most {MAX_FILES} files, but this one changes {len(files)}"
        )
    return tuple(files)


def plain_path(path: str) -> str:
    """Return `path` without redundant parts, so that a file has one spelling."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)
