"""Atomic replacement of one or several files.

New content goes to temporary files in the targets' own folders, which are held open; only when all
are written are they renamed over their targets. If a rename fails, earlier ones are undone.
Everything here blocks.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.core.errors import StorageUnavailable
from app.operations.local.failures import failure, not_a_file
from app.operations.local.owners import give_file
from app.operations.local.queue import FileKey
from app.operations.protocols.files import FileState

_NEW_TEMP = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Signature = tuple[int, int, int, int, int]


class Moved(Exception):
    """A file has changed since it was found."""


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """Resolved path: its queue key, location and current content."""

    path: str
    key: FileKey
    place: str
    state: FileState | None
    signature: Signature | None


def signature_of(status: os.stat_result) -> Signature:
    """Return values that change whenever a file is written or replaced."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


@dataclass(slots=True)
class Step:
    """Replacement of one file."""

    folder: int
    name: str
    found: ResolvedPath
    state: FileState | None
    temporary: str | None = None

    def stage(self, *, durable: bool) -> None:
        """Write the new content next to the file."""
        if self.state is None:
            return
        mode = self.state.mode
        if mode is None and self.found.state is not None:
            mode = self.found.state.mode
        self._write(self.state.data, mode, durable=durable)

    def _write(self, data: bytes, mode: int | None, *, durable: bool) -> None:
        self.temporary = f".{secrets.token_hex(8)}.tmp"
        created = 0o666 if mode is None else 0o600
        descriptor = os.open(self.temporary, _NEW_TEMP, created, dir_fd=self.folder)
        try:
            give_file(descriptor, self.folder, self.name)
            write_all(descriptor, data)
            if mode is not None:
                os.fchmod(descriptor, mode)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def check(self) -> None:
        """Raise `Moved` if the file has changed meanwhile."""
        try:
            status = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            there = None
        except OSError as error:
            raise failure(error, self.found.path) from None
        else:
            if stat.S_ISDIR(status.st_mode):
                raise not_a_file(self.found.path)
            there = signature_of(status)
        if there != self.found.signature:
            raise Moved

    def commit(self) -> None:
        """Make the new state visible."""
        if self.temporary is not None:
            os.rename(self.temporary, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
            self.temporary = None
        elif self.found.state is not None:
            os.unlink(self.name, dir_fd=self.folder)

    def undo(self) -> None:
        """Restore the previous state, after `commit`."""
        before = self.found.state
        if before is None:
            with suppress(FileNotFoundError):
                os.unlink(self.name, dir_fd=self.folder)
            return
        self._write(before.data, before.mode, durable=False)
        self.state = before
        self.commit()

    def flush(self) -> None:
        """Wait until the folder's entry is on disk."""
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def tidy(self) -> None:
        """Remove staged data that was not committed."""
        if self.temporary is not None:
            with suppress(OSError):
                os.unlink(self.temporary, dir_fd=self.folder)


def commit_all(steps: Sequence[Step], *, durable: bool) -> None:
    """Make every new state visible; if one fails, restore the others.

    Raises:
        TollgateError: the failure, or `StorageUnavailable` naming files that could not be restored.
    """
    done: list[Step] = []
    path = ""
    try:
        for step in steps:
            path = step.found.path
            step.commit()
            done.append(step)
        if durable:
            for step in steps:
                step.flush()
    except OSError as error:
        _put_back(done)
        raise failure(error, path) from None


def _put_back(done: Sequence[Step]) -> None:
    lost: list[str] = []
    for step in reversed(done):
        try:
            step.undo()
        except OSError:
            lost.append(step.found.place)
    if lost:
        raise StorageUnavailable(
            "Some files could not be written, and these could not be restored: "
            f"{lost}; free space on the workspace's disk and restore them from the "
            "checkpoint",
            files=lost,
        )


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data, in as many calls as necessary."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
