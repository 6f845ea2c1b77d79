"""A whole patch as one change of several files: all of it, or an error and no change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import ToolFailed
from app.operations.protocols.files import FileState, FileStates
from app.tools.files.diff import FileDiff, unified_diff
from app.tools.files.document import TextDocument, open_exactly, open_leniently, with_escapes
from app.tools.files.patch_apply import HunkMismatch, PlacedHunk, apply_hunks
from app.tools.files.patch_model import FilePatch, paths_of
from app.tools.files.text import MAX_FILE_BYTES, encode

_EXECUTE = 0o111
_NEW_PROGRAM = 0o755
_MAX_SHOWN = 10


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """Result of a patch for one file; a text is None if the file does not exist."""

    file: FilePatch
    before: str | None
    after: str | None
    placed: Sequence[PlacedHunk] = ()

    def diff(self) -> FileDiff:
        """Return the change as a diff."""
        return unified_diff(self.file.target or self.file.path, self.before, self.after)

    def action(self) -> str:
        """Return the action as one word."""
        if self.file.target is not None:
            return "moved"
        return {"add": "added", "delete": "deleted", "update": "updated"}[self.file.action]

    def to_dict(self, diff: FileDiff) -> dict[str, Any]:
        """Return the form in results."""
        moved = {} if self.file.target is None else {"from": self.file.path}
        return {
            "path": self.file.target or self.file.path,
            "action": self.action(),
            **moved,
            "added": diff.added,
            "removed": diff.removed,
            "hunks": [hunk.to_dict() for hunk in self.placed],
        }


class PatchChange:
    """Patch as a `Change`: call it with the current files.

    Attributes:
        paths: paths it needs to read.
        patched: results of the last call.
    """

    def __init__(self, files: Sequence[FilePatch], encoding: str | None, *, dry_run: bool) -> None:
        self.paths = paths_of(files)
        self.patched: list[PatchedFile] = []
        self._files = files
        self._encoding = encoding
        self._dry_run = dry_run

    def __call__(self, found: FileStates) -> FileStates:
        """Return the new contents; nothing for a dry run.

        Raises:
            ToolFailed: `patch_failed`, naming the unmatched hunk of each file.
        """
        self.patched = []
        now = dict(found)
        problems: list[tuple[str, int | None, str]] = []
        for file in self._files:
            try:
                self.patched.append(self._patch(file, now))
            except HunkMismatch as error:
                count = len(file.hunks)
                said = f"hunk {error.hunk.number} of {count} in {file.path!r}: {error.message}"
                problems.append((file.path, error.hunk.number, said))
            except ToolFailed as error:
                problems.append((file.path, None, error.message))
        if problems:
            raise _failed(problems)
        if self._dry_run:
            return {}
        return {path: state for path, state in now.items() if state is not found[path]}

    def _patch(self, file: FilePatch, now: dict[str, FileState | None]) -> PatchedFile:
        state = now[file.path]
        _check_places(file, state, now)
        document = self._document(file, state)
        before, old = (None, None) if document is None else (document.text, document.shown())
        after, placed = apply_hunks(before or "", file)
        if file.action == "delete":
            if file.hunks and after:
                raise ToolFailed(f"{file.path!r} has more lines than the patch removes")
            now[file.path] = None
            return PatchedFile(file, old, None, placed)
        if after == before and file.target is None and file.executable is None:
            raise ToolFailed(f"{file.path!r} already matches the patch")
        new = FileState(self._encoded(after, document, file.path), _mode(file, state))
        now[file.path] = None
        now[file.target or file.path] = new
        return PatchedFile(file, old, with_escapes(after), placed)

    def _document(self, file: FilePatch, state: FileState | None) -> TextDocument | None:
        """Return the current content; for a file to delete, as far as readable."""
        if state is None:
            return None
        path = file.path
        if len(state.data) > MAX_FILE_BYTES:
            size = len(state.data)
            raise ToolFailed(f"{path!r} has {size} bytes; the maximum is {MAX_FILE_BYTES}")
        if file.action != "delete" or file.hunks:
            return open_exactly(state.data, self._encoding, path)
        return open_leniently(state.data, path)

    def _encoded(self, text: str, document: TextDocument | None, path: str) -> bytes:
        if document is None:
            data = encode(text, self._encoding or "utf-8")
        else:
            data = document.encode(text)
        if len(data) > MAX_FILE_BYTES:
            raise ToolFailed(
                f"{path!r} would have {len(data)} bytes; the maximum is {MAX_FILE_BYTES}"
            )
        return data


def _check_places(
    file: FilePatch, state: FileState | None, now: dict[str, FileState | None]
) -> None:
    if file.action == "add" and state is not None:
        raise ToolFailed(f"{file.path!r} already exists; use '*** Update File' or write_file")
    if file.action != "add" and state is None:
        raise ToolFailed(f"File not found: {file.path!r}")
    if file.target is not None and now[file.target] is not None:
        raise ToolFailed(f"{file.target!r} already exists, so {file.path!r} cannot be moved there")


def _mode(file: FilePatch, state: FileState | None) -> int | None:
    if file.executable is None:
        return None if state is None else state.mode
    if state is None or state.mode is None:
        return _NEW_PROGRAM if file.executable else None
    return state.mode | _EXECUTE if file.executable else state.mode & ~_EXECUTE


def _failed(problems: list[tuple[str, int | None, str]]) -> ToolFailed:
    described = "\n".join(message for *_, message in problems[:_MAX_SHOWN])
    more = f"\nand {len(problems) - _MAX_SHOWN} more" if len(problems) > _MAX_SHOWN else ""
    failures = [{"path": path, "hunk": hunk} for path, hunk, _ in problems]
    return ToolFailed(
        f"The patch does not apply; no files were modified:\n{described}{more}",
        code="patch_failed",
        failures=failures,
    )
