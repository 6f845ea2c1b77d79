"""Whole files of one workspace: bounded reads, atomic writes, queued edits.

A write goes to a temporary file in the target's own folder, which is held open, and is renamed over
the target: readers see the old or the new content, never a part. The target's permission bits are
preserved, and its owner if the service is root; set-id bits and other hard links are not. A link at
the target is followed if its target is inside, so the link stays a link; otherwise it is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.failures import check_link, failure, not_a_file, too_large
from app.operations.local.queue import FileKey, WriteQueue
from app.operations.local.rewriter import Rewriter, read_bounded
from app.operations.local.stats import to_file_stat
from app.operations.local.steps import Moved, ResolvedPath, Signature, signature_of
from app.operations.local.threads import in_thread
from app.operations.paths import leaves_lexically
from app.operations.protocols.files import (
    BeforeWrite,
    Change,
    Edited,
    FileStat,
    FileState,
    FileStates,
    Unread,
    nothing,
)
from app.operations.whole_files import OverApply

DEFAULT_MAX_EDIT_BYTES = 64 << 20
MAX_TOGETHER_BYTES = 256 << 20
_MAX_TRIES = 50
_OPEN_DOOMED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class LocalFiles(OverApply):
    """`FileOperations` on a `Beneath`.

    Attributes:
        max_edit_bytes: larger files are not edited, extended or overwritten, because `Edited`
            contains the whole file.
        fsync: wait until a write is on disk; off by default, because the workspace is not
            authoritative.
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
        self._rewriter = Rewriter(
            beneath, max_bytes=max_edit_bytes, max_together=MAX_TOGETHER_BYTES
        )
        self._fsync = fsync

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        return await in_thread(self._read, path, max_bytes)

    async def stat(self, path: str) -> FileStat | None:
        return await in_thread(self._stat, path)

    async def place(self, path: str) -> str:
        return await in_thread(self._place, path)

    async def list_dir(self, path: str) -> list[FileStat]:
        return await in_thread(self._list_dir, path)

    async def apply(
        self,
        paths: Sequence[str],
        change: Change,
        *,
        fresh: bool = False,
        durable: bool = False,
        before_write: BeforeWrite = nothing,
    ) -> list[Edited]:
        for _ in range(_MAX_TRIES):
            keys = await in_thread(self._rewriter.keys, paths)
            async with self._queue.all_alone(keys):
                with suppress(Moved):
                    return await self._apply_alone(
                        paths, keys, change, durable=durable, before_write=before_write
                    )
        raise ToolFailed(
            f"Another process keeps writing to {', '.join(map(repr, paths))}; try again",
            code="workspace_changing",
        )

    async def _apply_alone(
        self,
        paths: Sequence[str],
        keys: Sequence[FileKey],
        change: Change,
        *,
        durable: bool,
        before_write: BeforeWrite,
    ) -> list[Edited]:
        found, states = await in_thread(self._look, paths, keys, change)
        edits = [_edited(found[path], states[path]) for path in paths if path in states]
        await before_write(edits)
        await in_thread(self._rewriter.replace, found, states, durable=durable or self._fsync)
        return edits

    def _look(
        self, paths: Sequence[str], keys: Sequence[FileKey], change: Change
    ) -> tuple[dict[str, ResolvedPath], FileStates]:
        """Return the current files, and their requested states."""
        found = {entry.path: entry for entry in self._rewriter.find(paths)}
        if [found[path].key for path in paths] != keys:
            raise Moved
        states = change({path: entry.state for path, entry in found.items()})
        return found, {path: states[path] for path in paths if path in states}

    async def delete(self, path: str, *, before_write: BeforeWrite = nothing) -> Edited:
        key = await in_thread(self._own_key, path)
        async with self._queue.alone(key):
            edited, signature = await in_thread(self._doomed, path)
            await before_write([edited])
            await in_thread(self._delete, path, signature)
            return edited

    async def make_dir(self, path: str) -> bool:
        return await in_thread(self._make_dir, path)

    def _read(self, path: str, max_bytes: int) -> bytes:
        with self._beneath.file(path) as (descriptor, status):
            if status.st_size > max_bytes:
                raise too_large(path, status.st_size, max_bytes)
            try:
                return read_bounded(descriptor, max_bytes, path)
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

    def _place(self, path: str) -> str:
        if leaves_lexically(self._beneath.parts(path)):
            raise OutsideWorkspace(path)
        named = self._beneath.absolute(path)
        try:
            real = str(Path(named).resolve())
        except (OSError, RuntimeError):  # links that refer to each other
            return ""
        return "" if real == named else real

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
        """Return one entry; a link shows its target, or `other` if that is outside or missing."""
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

    def _own_key(self, path: str) -> FileKey:
        with self._beneath.parent(path, follow=False) as (folder, name):
            status = os.fstat(folder)
            return status.st_dev, status.st_ino, name

    def _doomed(self, path: str) -> tuple[Edited, Signature]:
        """Return what a deletion would remove; links are not followed."""
        with self._beneath.parent(path, follow=False) as (folder, name):
            place = self._beneath.place(folder, name, path)
            check_link(path, place, self._beneath.join(self._beneath.parts(path)))
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                data, unread = self._content(folder, name, status, path)
            except OSError as error:
                raise failure(error, path) from None
        mode = status.st_mode & 0o777
        return Edited(place, data, None, mode, unread), signature_of(status)

    def _content(
        self, folder: int, name: str, status: os.stat_result, path: str
    ) -> tuple[bytes | None, Unread | None]:
        if stat.S_ISDIR(status.st_mode):
            raise not_a_file(path)
        if not stat.S_ISREG(status.st_mode):
            return None, "link" if stat.S_ISLNK(status.st_mode) else "special"
        if status.st_size > self._max_edit_bytes:
            return None, "too_large"
        try:
            descriptor = os.open(name, _OPEN_DOOMED, dir_fd=folder)
        except PermissionError:
            return None, "unreadable"
        try:
            return read_bounded(descriptor, self._max_edit_bytes, path), None
        finally:
            os.close(descriptor)

    def _delete(self, path: str, signature: Signature) -> None:
        with self._beneath.parent(path, follow=False) as (folder, name):
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if signature_of(status) != signature:
                    raise failure(BlockingIOError(errno.EAGAIN, ""), path)
                os.unlink(name, dir_fd=folder)
            except OSError as error:
                raise failure(error, path) from None

    def _make_dir(self, path: str) -> bool:
        return self._beneath.make_dirs(self._beneath.parts(path), path)


def _edited(found: ResolvedPath, state: FileState | None) -> Edited:
    before = found.state
    return Edited(
        found.place,
        None if before is None else before.data,
        None if state is None else state.data,
        None if before is None else before.mode,
    )
