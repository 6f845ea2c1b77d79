"""Lookup and atomic replacement of several files. Everything here blocks."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress

from app.core.errors import ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.failures import check_link, failure, not_a_file, too_large
from app.operations.local.queue import FileKey
from app.operations.local.steps import ResolvedPath, Signature, Step, commit_all, signature_of
from app.operations.protocols.files import FileState, FileStates

# Changes that create folders share one queue: the folders have no identity yet.
NEW_FOLDERS: FileKey = (0, 0, "")
_CHUNK = 1 << 20
# for writing too: a file that the service may not write must not be replaced either
_OPEN_EXISTING = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Rewriter:
    """Looks up files, and replaces them together.

    Args:
        max_bytes: maximum size of a file; `max_together` limits their total, because contents are
            held in memory.
    """

    def __init__(self, beneath: Beneath, *, max_bytes: int, max_together: int) -> None:
        self._beneath = beneath
        self._max_bytes = max_bytes
        self._max_together = max_together

    def keys(self, paths: Sequence[str]) -> list[FileKey]:
        """Return the queue key of each file."""
        return [self._key(path) for path in paths]

    def _key(self, path: str) -> FileKey:
        try:
            with self._beneath.parent(path, follow=True) as (folder, name):
                status = os.fstat(folder)
                return status.st_dev, status.st_ino, name
        except ToolFailed as error:
            if error.details.get("code") != "file_not_found":
                raise
            return NEW_FOLDERS

    def find(self, paths: Sequence[str]) -> list[ResolvedPath]:
        """Return the current state of the paths.

        Raises:
            ToolFailed: `not_a_file`, `file_too_large`, `same_file`.
        """
        found: list[ResolvedPath] = []
        room = self._max_together
        for path in paths:
            entry = self._find(path)
            if entry.signature is not None and any(
                other.signature == entry.signature and other.key == entry.key for other in found
            ):
                raise same_file(path)
            room -= len(entry.state.data) if entry.state else 0
            if room < 0:
                raise ToolFailed(
                    f"The files exceed {self._max_together} bytes in total; change "
                    "fewer of them at once",
                    code="file_too_large",
                    limit=self._max_together,
                )
            found.append(entry)
        return found

    def _find(self, path: str) -> ResolvedPath:
        key = self._key(path)
        if key == NEW_FOLDERS:
            place = self._beneath.join(self._beneath.parts(path))
            return ResolvedPath(path, key, place, None, None)
        with self._beneath.parent(path, follow=True) as (folder, name):
            place = self._beneath.place(folder, name, path)
            check_link(path, place, self._beneath.join(self._beneath.parts(path)))
            try:
                state, signature = self._existing(folder, name, path)
            except OSError as error:
                raise failure(error, path) from None
        return ResolvedPath(path, key, place, state, signature)

    def _existing(
        self, folder: int, name: str, path: str
    ) -> tuple[FileState | None, Signature | None]:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise not_a_file(path)
            descriptor = os.open(name, _OPEN_EXISTING, dir_fd=folder)
        except FileNotFoundError:
            return None, None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise not_a_file(path)
            if status.st_size > self._max_bytes:
                raise too_large(path, status.st_size, self._max_bytes)
            data = read_bounded(descriptor, self._max_bytes, path)
            return FileState(data, status.st_mode & 0o777), signature_of(status)
        finally:
            os.close(descriptor)

    def replace(
        self, found: Mapping[str, ResolvedPath], states: FileStates, *, durable: bool
    ) -> None:
        """Write `states`, or leave everything unchanged.

        Raises:
            Moved: a file has changed since it was found.
            TollgateError: a write failed.
        """
        made = self._missing_folders(found[path].path for path in states)
        with ExitStack() as stack:
            try:
                steps = [
                    self._stage(stack, found[path], state, durable=durable)
                    for path, state in states.items()
                ]
                for step in steps:
                    step.check()
                commit_all(steps, durable=durable)
            except BaseException:
                stack.close()
                self._remove_folders(made)
                raise

    def _stage(
        self, stack: ExitStack, found: ResolvedPath, state: FileState | None, *, durable: bool
    ) -> Step:
        create = state is not None
        folder, name = stack.enter_context(
            self._beneath.parent(found.path, follow=True, create=create)
        )
        step = Step(folder, name, found, state)
        stack.callback(step.tidy)
        try:
            step.stage(durable=durable)
        except OSError as error:
            raise failure(error, found.path) from None
        return step

    def _missing_folders(self, paths: Iterable[str]) -> list[str]:
        """Return folders to create, outermost first."""
        missing: dict[str, None] = {}
        for path in paths:
            parts = self._beneath.parts(path)
            if ".." in parts:
                continue
            for count in range(len(parts) - 1, 0, -1):
                folder = self._beneath.join(parts[:count])
                if folder in missing or self._is_there(folder):
                    break
                missing[folder] = None
        return sorted(missing)

    def _is_there(self, folder: str) -> bool:
        try:
            with self._beneath.opened(folder, os.O_PATH):
                return True
        except ToolFailed:
            return False

    def _remove_folders(self, made: list[str]) -> None:
        for folder in reversed(made):
            with (
                suppress(ToolFailed, OSError),
                self._beneath.parent(folder, follow=False) as (parent, name),
            ):
                os.rmdir(name, dir_fd=parent)


def same_file(path: str) -> ToolFailed:
    """Return the error for two paths that lead to one file."""
    return ToolFailed(
        f"{path!r} is another name of a file that is already changed in this call; name it once",
        code="same_file",
        path=path,
    )


def read_bounded(descriptor: int, limit: int, path: str) -> bytes:
    """Return everything behind a descriptor; raises `file_too_large` above `limit` bytes."""
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, min(_CHUNK, limit + 1 - size)):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:  # it grew after its size was read
            raise too_large(path, size, limit)
    return b"".join(chunks)
