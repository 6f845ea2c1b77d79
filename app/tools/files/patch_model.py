"""What a patch says, in either of its two forms."""

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
"""The line that begins a hunk of a unified diff; behind it a line that comes before may stand."""

_NO_HINT = re.compile(r"[.\s]*|…|[-+][\dxXnNmM?,]*(?:\s+[-+][\dxXnNmM?,]*)?")


@dataclass(frozen=True)
class Hunk:
    """One place of a file that changes.

    Attributes:
        number: its place among the hunks of its file, from 1.
        lines: kept, removed and added lines in their order, without line breaks.
        line: where it begins in the old file, from 1; None where the patch does not say.
        hints: lines that come somewhere before it, each after the one before.
        section: a line that its header says comes before it; only to choose between places.
        at_end: it reaches to the end of the file.
        old_open, new_open: the old or the new file ends here without a line break.
        miscounted: its header counts other lines than it has.
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
        """The lines that must be there."""
        return tuple(text for mark, text in self.lines if mark != "+")


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happens to one file.

    Attributes:
        target: where it is moved to.
        executable: whether it may be run afterwards; None leaves that as it is.
    """

    path: str
    action: Action
    hunks: tuple[Hunk, ...] = ()
    target: str | None = None
    executable: bool | None = None


def invalid_patch(message: str, line: int | None = None) -> ToolFailed:
    """The error for a text that is no patch; `line` of the patch, from 1."""
    where = "" if line is None else f" (line {line} of the patch)"
    return ToolFailed(f"{message}{where}; no files were modified", code="invalid_patch", line=line)


def line_of(ranges: re.Match[str]) -> int:
    """Where the hunk of a `RANGE` begins in the old file, from 1."""
    # `-4,0` stands after line 4, everything else at its first line.
    return int(ranges[1]) + (ranges[2] is not None and not int(ranges[2]))


def section_of(ranges: re.Match[str]) -> str:
    """The line that stands behind a `RANGE`."""
    return (ranges[5] or "").strip()


def hint_of(header: str) -> str:
    """The line that an `@@` line names; empty for dots and for ranges without numbers."""
    hint = header.strip().strip("@").strip()
    return "" if _NO_HINT.fullmatch(hint) else hint


def paths_of(files: Iterable[FilePatch]) -> list[str]:
    """Every path that a patch touches, each once."""
    named = (path for file in files for path in (file.path, file.target) if path is not None)
    return list(dict.fromkeys(named))


def checked(files: Sequence[FilePatch]) -> tuple[FilePatch, ...]:
    """The files of a patch, if there are some and not too many."""
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
    """`path` without the parts that say nothing, so that one file has one spelling."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)
