"""Whole files of one workspace: bounded reads, atomic writes, queued edits.

A write goes to a temporary file in the target's own folder, which is held open, and is
renamed over the target: readers see the old content or the new, never a part. The target's
permission bits are kept; its set-id bits and other hard links are not. A link at the target
is followed when its target is inside, so the link stays a link; otherwise it is refused.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress

from app.core.errors import ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.failures import failure, not_a_file, too_large
from app.operations.local.queue import FileKey, WriteQueue
from app.operations.local.stats import to_file_stat
from app.operations.local.threads import in_thread
from app.operations.protocols import Edited, FileStat

DEFAULT_MAX_EDIT_BYTES = 64 << 20
_CHUNK = 1 << 20
_NEW_TEMP = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# for writing too: a file the service may not write must not be replaced either
_OPEN_EXISTING = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class LocalFiles:
    """`FileOperations` on a `Beneath`.

    Attributes:
        max_edit_bytes: a file larger than this is not edited, extended or overwritten,
            because `Edited` carries it whole.
        fsync: wait until a write is on the disk; off by default, because the workspace
            is not the record of anything.
    """

    def __init__(
        self,
        beneath: Beneath,
        queue: WriteQueue,
        *,
        max_edit_bytes: int = DEFAULT_MAX_EDIT_BYTES,
        fsync: bool = False,
    ) -> None:
        self._beneath = beneath
        self._queue = queue
        self._max_edit_bytes = max_edit_bytes
        self._fsync = fsync

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        return await in_thread(self._read, path, max_bytes)

    async def stat(self, path: str) -> FileStat | None:
        return await in_thread(self._stat, path)

    async def list_dir(self, path: str) -> list[FileStat]:
        return await in_thread(self._list_dir, path)

    async def write(self, path: str, data: bytes, *, append: bool = False) -> Edited:
        def change(before: bytes | None) -> bytes:
            return (before or b"") + data if append else data

        key = await in_thread(self._key, path, create=True)
        async with self._queue.alone(key):
            return await in_thread(self._replace, path, change)

    async def edit(self, path: str, change: Callable[[bytes], bytes]) -> Edited:
        """As the Protocol says; a missing file raises ToolFailed `file_not_found`."""

        def change_existing(before: bytes | None) -> bytes:
            if before is None:
                raise failure(FileNotFoundError(2, ""), path)
            return change(before)

        key = await in_thread(self._key, path, create=False)
        async with self._queue.alone(key):
            return await in_thread(self._replace, path, change_existing)

    async def delete(self, path: str) -> None:
        await in_thread(self._delete, path)

    async def make_dir(self, path: str) -> bool:
        return await in_thread(self._make_dir, path)

    def _read(self, path: str, max_bytes: int) -> bytes:
        with self._beneath.file(path) as (descriptor, status):
            if status.st_size > max_bytes:
                raise too_large(path, status.st_size, max_bytes)
            try:
                return _read_bounded(descriptor, max_bytes, path)
            except OSError as error:
                raise failure(error, path) from None

    def _stat(self, path: str) -> FileStat | None:
        try:
            with self._beneath.opened(path, os.O_PATH) as descriptor:
                status = os.fstat(descriptor)
        except ToolFailed as error:
            if error.details.get("code") in ("file_not_found", "not_a_directory"):
                return None
            raise
        return to_file_stat(self._beneath.join(self._beneath.parts(path)), status)

    def _list_dir(self, path: str) -> list[FileStat]:
        parts = self._beneath.parts(path)
        children = []
        try:
            with self._beneath.folder(path) as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    child = self._child((*parts, entry.name), entry)
                    if child is not None:
                        children.append(child)
        except OSError as error:
            raise failure(error, path) from None
        return sorted(children, key=lambda child: (child.type != "directory", child.path))

    def _child(self, parts: tuple[str, ...], entry: os.DirEntry[str]) -> FileStat | None:
        """One entry; a link shows what it leads to, or `other` when that is outside or gone."""
        path = self._beneath.join(parts)
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(status.st_mode):
            with (
                suppress(ToolFailed),
                self._beneath.opened(path, os.O_PATH) as descriptor,
            ):
                status = os.fstat(descriptor)
        return to_file_stat(path, status)

    def _key(self, path: str, *, create: bool) -> FileKey:
        with self._beneath.parent(path, follow=True, create=create) as (folder, name):
            status = os.fstat(folder)
            return status.st_dev, status.st_ino, name

    def _replace(self, path: str, change: Callable[[bytes | None], bytes]) -> Edited:
        shown = self._beneath.join(self._beneath.parts(path))
        with self._beneath.parent(path, follow=True) as (folder, name):
            try:
                before, mode = self._existing(folder, name, path)
            except OSError as error:
                raise failure(error, path) from None
            after = change(before)
            try:
                self._put(folder, name, after, mode)
            except OSError as error:
                raise failure(error, path) from None
        return Edited(shown, before, after)

    def _existing(self, folder: int, name: str, path: str) -> tuple[bytes | None, int | None]:
        """Content and permission bits of the file at `name`; both None when it is new."""
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
            if status.st_size > self._max_edit_bytes:
                raise too_large(path, status.st_size, self._max_edit_bytes)
            content = _read_bounded(descriptor, self._max_edit_bytes, path)
            return content, status.st_mode & 0o777
        finally:
            os.close(descriptor)

    def _put(self, folder: int, name: str, data: bytes, mode: int | None) -> None:
        """Write `data` beside `name` and rename it over; nothing is left behind on failure."""
        temporary = f".{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, _NEW_TEMP, 0o666 if mode is None else 0o600, dir_fd=folder)
        try:
            try:
                _write_all(descriptor, data)
                if mode is not None:
                    os.fchmod(descriptor, mode)
                if self._fsync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _delete(self, path: str) -> None:
        with self._beneath.parent(path, follow=False) as (folder, name):
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    raise not_a_file(path)
                os.unlink(name, dir_fd=folder)
            except OSError as error:
                raise failure(error, path) from None

    def _make_dir(self, path: str) -> bool:
        return self._beneath.make_dirs(self._beneath.parts(path), path)


def _read_bounded(descriptor: int, limit: int, path: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, min(_CHUNK, limit + 1 - size)):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:  # it grew after its size was asked
            raise too_large(path, size, limit)
    return b"".join(chunks)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
