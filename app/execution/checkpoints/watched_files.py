"""File operations of a call: protection against blind overwrites, and checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from app.core.errors import TollgateError
from app.execution.checkpoints.seen_files import (
    Place,
    SeenFile,
    SeenFiles,
    changed_since_read,
    is_same,
    look_at,
)
from app.execution.checkpoints.store import ChangeOrigin, CheckpointStore, Record
from app.execution.context import Project
from app.execution.created_files import CreatedFiles
from app.execution.provenance.written_files import WrittenFiles
from app.operations.paths import join_path, split_path
from app.operations.protocols.files import (
    BeforeWrite,
    Change,
    Edited,
    FileOperations,
    FileStat,
    nothing,
)
from app.operations.protocols.operations import Operations
from app.operations.whole_files import OverApply

_QUICK_BYTES = 64 << 10


class WatchedFiles(OverApply):
    """`FileOperations` of one call, wrapping those of its workspace.

    The previous state is committed before anything is written: a change that cannot be undone does
    not happen. A file read through a link or by a path with `..` is not recognized under its other
    name.
    """

    def __init__(
        self,
        inner: FileOperations,
        root: str,
        seen: SeenFiles,
        store: CheckpointStore,
        origin: ChangeOrigin,
        created: CreatedFiles,
        written: WrittenFiles,
    ) -> None:
        self._created = created
        self._written = written
        self._inner = inner
        self._root = root
        self._seen = seen
        self._store = store
        self._origin = origin

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        data = await self._inner.read(path, max_bytes=max_bytes)
        place = self._place(path)
        if place is not None:
            self._seen.note(self._origin.session_id, place, await _looked_at(data))
        return data

    async def stat(self, path: str) -> FileStat | None:
        return await self._inner.stat(path)

    async def place(self, path: str) -> str:
        return await self._inner.place(path)

    async def list_dir(self, path: str) -> list[FileStat]:
        return await self._inner.list_dir(path)

    async def make_dir(self, path: str) -> bool:
        return await self._inner.make_dir(path)

    async def apply(
        self,
        paths: Sequence[str],
        change: Change,
        *,
        fresh: bool = False,
        durable: bool = False,
        before_write: BeforeWrite = nothing,
    ) -> list[Edited]:
        watch = _Watch(self, before_write, fresh=fresh)
        try:
            edits = await self._inner.apply(
                paths, change, durable=durable, before_write=watch.before_write
            )
        except TollgateError:
            watch.take_back()
            raise
        self._note_created(edits)
        return edits

    async def delete(self, path: str, *, before_write: BeforeWrite = nothing) -> Edited:
        watch = _Watch(self, before_write, fresh=False)
        try:
            edit = await self._inner.delete(path, before_write=watch.before_write)
        except TollgateError:
            watch.take_back()
            raise
        self._note_created([edit])
        return edit

    def _note_created(self, edits: Sequence[Edited]) -> None:
        """Record files that the session created and may delete again."""
        for edit in edits:
            place, session_id = self._place(edit.path), self._origin.session_id
            if place is None:
                continue
            path = f"{self._root}/{place[1]}"
            if edit.after is not None and not self._origin.restores:
                self._written.note(self._root, [path])
            is_own = edit.before is None or self._created.knows(session_id, path)
            if edit.after is not None and is_own and not self._origin.restores:
                self._created.note(session_id, path, edit.after)
            else:
                self._created.forget(session_id, path)

    def _place(self, path: str) -> Place | None:
        """Return the key of a file; None for a path that may name another file."""
        try:
            parts = split_path(path, (self._root,))
        except TollgateError:
            parts = ("", *path.split("/"))
        return None if ".." in parts else (self._origin.project_id, join_path(parts))

    async def _admit(self, edits: Sequence[Edited], *, fresh: bool) -> None:
        """Refuse to overwrite files whose current state the session has not seen."""
        for edit in edits if fresh else ():
            place = self._place(edit.path)
            known = place and self._seen.last(self._origin.session_id, place)
            if known is None or edit.before is None:
                continue
            if not is_same(known, await _looked_at(edit.before)):
                raise await asyncio.to_thread(changed_since_read, edit.path, known, edit.before)

    async def _record(self, edits: Sequence[Edited]) -> list[Record]:
        return await self._store.record(self._origin, edits)

    async def _remember(self, edits: Sequence[Edited]) -> list[tuple[Place, SeenFile | None]]:
        """Record the new state of files about to be written; return the previous states.

        A file restored by a person does not count as seen by the session.
        """
        former: list[tuple[Place, SeenFile | None]] = []
        if self._origin.restores:
            return former
        for edit in edits:
            place = self._place(edit.path)
            if place is not None:
                after = None if edit.after is None else await _looked_at(edit.after)
                former.append((place, self._seen.last(self._origin.session_id, place)))
                self._seen.note(self._origin.session_id, place, after)
        return former

    def _put_back(
        self, records: Sequence[Record], former: list[tuple[Place, SeenFile | None]]
    ) -> None:
        for place, seen in former:
            self._seen.note(self._origin.session_id, place, seen)
        with suppress(TollgateError):
            self._store.take_back(records)


class _Watch:
    """One change: the record written before it, which is removed if the change fails.

    A cancelled change keeps its record: it is unknown whether the write happened, and the saved
    content does no harm.
    """

    def __init__(self, files: WatchedFiles, before_write: BeforeWrite, *, fresh: bool) -> None:
        self._files = files
        self._then = before_write
        self._fresh = fresh
        self._records: list[Record] = []
        self._former: list[tuple[Place, SeenFile | None]] = []

    async def before_write(self, edits: Sequence[Edited]) -> None:
        self.take_back()  # left by a failed attempt
        if edits:
            await self._files._admit(edits, fresh=self._fresh)
            self._records = await self._files._record(edits)
            self._former = await self._files._remember(edits)
        await self._then(edits)

    def take_back(self) -> None:
        self._files._put_back(self._records, self._former)
        self._records, self._former = [], []


class WorkspaceWatch:
    """What is remembered of all sessions of this process; shared by all calls."""

    def __init__(
        self, store: CheckpointStore, created: CreatedFiles, written: WrittenFiles
    ) -> None:
        self.store = store
        self.created = created
        self.written = written
        self._seen = SeenFiles()

    def operations(self, project: Project, origin: ChangeOrigin) -> Operations:
        """A project's operations, as one call may use them."""
        inner = project.operations
        files = WatchedFiles(
            *(inner.files, project.root, self._seen, self.store, origin),
            *(self.created, self.written),
        )
        return replace(inner, files=files)


async def _looked_at(data: bytes) -> SeenFile:
    """Call `look_at`; in a thread if it would block the loop noticeably."""
    return look_at(data) if len(data) <= _QUICK_BYTES else await asyncio.to_thread(look_at, data)
