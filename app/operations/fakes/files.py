"""Files in a dictionary, with the results of the local implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.core.clock import Clock, SystemClock
from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.paths import join_path, leaves_lexically, split_path
from app.operations.protocols.files import (
    BeforeWrite,
    Change,
    Edited,
    FileStat,
    FileState,
    nothing,
)
from app.operations.whole_files import OverApply

ROOT = "/workspace"
_NEW_MODE = 0o644
_FOLDER_MODE = 0o755


@dataclass(slots=True)
class FakeFile:
    data: bytes
    modified: datetime
    mode: int = _NEW_MODE


@dataclass(slots=True)
class FakeTree:
    """Files by relative path, and folders without files."""

    clock: Clock = field(default_factory=SystemClock)
    files: dict[str, FakeFile] = field(default_factory=dict)
    folders: dict[str, datetime] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    roots: tuple[str, ...] = ()

    def fill(self, files: Mapping[str, bytes | str]) -> None:
        """Add files; text is encoded as UTF-8."""
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            self.put(self.resolve(path), data)

    def resolve(self, path: str) -> str:
        """Return the relative path without `..`; `.` for the root."""
        parts = split_path(path, (ROOT,))
        top = self._depth(parts)
        if top is None or leaves_lexically(parts[top:]):
            raise OutsideWorkspace(path, self.roots)
        kept: list[str] = []
        for part in parts:
            if part == "..":
                kept.pop()
            else:
                kept.append(part)
        return join_path(kept)

    def _depth(self, parts: tuple[str, ...]) -> int | None:
        """Return how many of `parts` name the folder they may not leave; None outside `roots`."""
        limits = [split_path(root, ()) for root in self.roots] or [()]
        return next((len(limit) for limit in limits if parts[: len(limit)] == limit), None)

    def start(self, cwd: str) -> str:
        """Return the absolute working directory of a program for `cwd`."""
        return self.roots[0] if self.roots and not split_path(cwd, (ROOT,)) else cwd

    def is_folder(self, path: str) -> bool:
        return path == "." or path in self.folders

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file with its parents; the mode is preserved."""
        if self.is_folder(path):
            raise failed("not_a_file", path)
        self.add_folders(path.rpartition("/")[0])
        mode = self.files[path].mode if path in self.files else _NEW_MODE
        self.files[path] = FakeFile(data, self.clock.now(), mode)

    def add_folders(self, path: str) -> bool:
        """Create a folder with its parents; False if it existed."""
        if not path or self.is_folder(path):
            return False
        if path in self.files:
            raise failed("not_a_directory", path)
        self.add_folders(path.rpartition("/")[0])
        self.folders[path] = self.clock.now()
        return True

    def stat(self, path: str) -> FileStat | None:
        file = self.files.get(path)
        if file is not None:
            return FileStat(path, "file", len(file.data), file.modified, file.mode)
        if self.is_folder(path):
            modified = self.folders.get(path) or self.clock.now()
            return FileStat(path, "directory", 0, modified, _FOLDER_MODE)
        return None

    def folder(self, path: str) -> str:
        """Return `path` resolved; it must be a folder."""
        resolved = self.resolve(path)
        if self.is_folder(resolved):
            return resolved
        raise failed("not_a_directory" if resolved in self.files else "file_not_found", path)


_MESSAGES = {
    "file_not_found": "File not found",
    "not_a_file": "Path is not a file",
    "not_a_directory": "Path is not a directory",
    "file_too_large": "File is too large",
}


def failed(code: str, path: str) -> ToolFailed:
    return ToolFailed(f"{_MESSAGES[code]}: {path!r}", code=code, path=path)


class FakeFiles(OverApply):
    """`FileOperations` on a `FakeTree`; one change at a time."""

    def __init__(self, tree: FakeTree) -> None:
        self._tree = tree

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        file = self._existing(path)
        if len(file.data) > max_bytes:
            raise failed("file_too_large", path)
        return file.data

    async def stat(self, path: str) -> FileStat | None:
        return self._tree.stat(self._tree.resolve(path))

    async def place(self, path: str) -> str:
        self._tree.resolve(path)
        return ""  # there are no links

    async def list_dir(self, path: str) -> list[FileStat]:
        folder = self._tree.folder(path)
        prefix = "" if folder == "." else f"{folder}/"
        names = [
            name
            for name in (*self._tree.files, *self._tree.folders)
            if name.startswith(prefix) and "/" not in name[len(prefix) :]
        ]
        children = [child for child in map(self._tree.stat, names) if child is not None]
        return sorted(children, key=lambda child: (child.type != "directory", child.path))

    async def apply(
        self,
        paths: Sequence[str],
        change: Change,
        *,
        fresh: bool = False,
        durable: bool = False,
        before_write: BeforeWrite = nothing,
    ) -> list[Edited]:
        async with self._tree.lock:
            places = {path: self._place(path) for path in paths}
            if len(set(places.values())) < len(paths):
                raise ToolFailed("Two paths name the same file; name it once", code="same_file")
            states = change({path: self._state(place) for path, place in places.items()})
            written = [path for path in paths if path in states]
            edits = [self._edited(places[path], states[path]) for path in written]
            await before_write(edits)
            kept = dict(self._tree.files), dict(self._tree.folders)
            try:
                for path in written:
                    self._set(places[path], states[path])
            except ToolFailed:
                self._tree.files, self._tree.folders = kept
                raise
            return edits

    def _place(self, path: str) -> str:
        place = self._tree.resolve(path)
        if self._tree.is_folder(place):
            raise failed("not_a_file", path)
        return place

    def _state(self, place: str) -> FileState | None:
        file = self._tree.files.get(place)
        return None if file is None else FileState(file.data, file.mode)

    def _edited(self, place: str, state: FileState | None) -> Edited:
        before = self._state(place)
        return Edited(
            place,
            None if before is None else before.data,
            None if state is None else state.data,
            None if before is None else before.mode,
        )

    def _set(self, place: str, state: FileState | None) -> None:
        if state is None:
            self._tree.files.pop(place, None)
            return
        self._tree.put(place, state.data)
        if state.mode is not None:
            self._tree.files[place].mode = state.mode

    async def delete(self, path: str, *, before_write: BeforeWrite = nothing) -> Edited:
        async with self._tree.lock:
            self._existing(path)
            place = self._tree.resolve(path)
            edited = self._edited(place, None)
            await before_write([edited])
            del self._tree.files[place]
            return edited

    async def make_dir(self, path: str) -> bool:
        return self._tree.add_folders(self._tree.resolve(path))

    def _existing(self, path: str) -> FakeFile:
        resolved = self._tree.resolve(path)
        file = self._tree.files.get(resolved)
        if file is None:
            code = "not_a_file" if self._tree.is_folder(resolved) else "file_not_found"
            raise failed(code, path)
        return file
