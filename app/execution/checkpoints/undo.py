"""File changes of a session's runs, and undoing them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from app.core.errors import Busy, Conflict, InvalidInput, NotFound, TollgateError
from app.core.ids import new_id
from app.execution.cache import ResultCache
from app.execution.checkpoints.blobs import digest_of
from app.execution.checkpoints.store import MAX_KEPT_BYTES, ChangeOrigin, Record
from app.execution.checkpoints.watched_files import WorkspaceWatch
from app.execution.projects import Projects
from app.governance.audit.log import AuditEntry, AuditLog
from app.operations.protocols.files import Edited, FileOperations, FileState, FileStates
from app.tools.files.diff import FileDiff, unified_diff

State = Literal["restorable", "as_before", "changed_since", "unkept"]
"""State of a file: as after the run, as before the run, or neither."""

MAX_TOGETHER_BYTES = 256 << 20

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class RunChanges:
    """Files of one run, by path; `restores` is the run it undid, if any."""

    run_id: str
    restores: str
    created_at: str
    changed_at: str
    files: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file changed by a run, compared with its state before the run.

    Attributes:
        diff: difference from before the run to now; None if either side is not available as text.
    """

    record: Record
    state: State
    diff: FileDiff | None


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of undoing a run.

    Attributes:
        run_id: ID under which the undo is listed, so that it can be undone.
        restored, unchanged: paths that were written, and paths already as before.
        left: paths whose previous content was not saved, with the reason.
    """

    run_id: str
    restored: tuple[str, ...]
    unchanged: tuple[str, ...]
    left: dict[str, str]


class RestorePlan:
    """`Change` that restores files; raises `Conflict` if a file was changed after the run.

    Attributes:
        written: restored paths.
    """

    def __init__(self, records: Sequence[Record], before: FileStates, *, force: bool) -> None:
        self._records = records
        self._before = before
        self._force = force
        self.written: set[str] = set()

    def __call__(self, found: FileStates) -> FileStates:
        later = []
        self.written = set()
        for record in self._records:
            there = found[record.path]
            now = None if there is None else digest_of(there.data)
            if now == record.before_sha256:
                continue
            if now != record.after_sha256:
                later.append(record.path)
            self.written.add(record.path)
        if later and not self._force:
            raise Conflict(
                f"Changed after the run: {', '.join(later[:MAX_NAMED])}; nothing was "
                "restored. Review the differences, then restore with force",
                files=later[:MAX_NAMED],
                count=len(later),
            )
        return {path: self._before[path] for path in self.written}


def chosen(records: list[Record], paths: Sequence[str] | None) -> list[Record]:
    """Return the records of `paths`; all if None.

    Raises:
        InvalidInput: a path has no record.
    """
    if paths is None:
        return records
    unknown = sorted(set(paths) - {record.path for record in records})
    if unknown:
        raise InvalidInput(f"The run did not change {unknown[0]!r}", field="body.paths")
    return [record for record in records if record.path in paths]


def stay_in_place(records: Sequence[Record], edits: Sequence[Edited]) -> None:
    """Check that every write affects a file of the run.

    Raises:
        Conflict: a path now links to another file.
    """
    own = {record.path for record in records}
    elsewhere = [edit.path for edit in edits if edit.path not in own]
    if elsewhere:
        raise Conflict(
            f"A file of the run is now reached through a link to {elsewhere[0]!r}; "
            "nothing was restored. Remove the link, or name the other files in "
            "'paths'",
            files=elsewhere[:MAX_NAMED],
        )


class Undo:
    """Reader of checkpoints, which restores files through the operations of their project."""

    def __init__(
        self,
        workspace_watch: WorkspaceWatch,
        projects: Projects,
        cache: ResultCache,
        audit: AuditLog,
    ) -> None:
        self._workspace_watch = workspace_watch
        self._projects = projects
        self._cache = cache
        self._audit = audit
        self._store = workspace_watch.store

    async def runs(self, session_id: str, *, limit: int | None = None) -> list[RunChanges]:
        """Return the changes of each run of a session, newest first; at most `limit` runs."""
        by_run: dict[str, list[Record]] = {}
        for record in await self._store.of_session(session_id):
            by_run.setdefault(record.run_id, []).append(record)
        newest = islice(reversed(by_run.values()), limit)
        return [_of_run(records) for records in newest]

    async def changes(
        self, session_id: str, run_id: str, *, after: str = "", limit: int | None = None
    ) -> list[FileChange]:
        """Return the files of a run by path, each compared with the present file.

        Args:
            after: only paths after this one, at most `limit`.

        Raises:
            NotFound: the run changed nothing, or its project no longer exists.
        """
        records = await self._records(session_id, run_id)
        wanted = islice((record for record in records if record.path > after), limit)
        return [await self._change(record) for record in wanted]

    async def restore(
        self,
        session_id: str,
        run_id: str,
        *,
        actor: str,
        is_active: Callable[[], bool],
        force: bool = False,
        paths: Sequence[str] | None = None,
    ) -> Restored:
        """Restore all files of a run to their previous state, or none.

        Args:
            paths: only these files of the run.
            is_active: returns whether the session runs; nothing is restored then.
            force: restore even files that were changed after the run.

        Raises:
            NotFound: the run changed nothing, or its project or saved content no longer exists.
            InvalidInput: the run did not change one of `paths`.
            Busy: the session runs.
            Conflict: `details["files"]` were changed after the run, a link leads elsewhere, nothing
                was saved, or the change is too large.
            TollgateError: a write failed; nothing has changed.
        """
        if is_active():
            raise _busy()
        records = chosen(await self._records(session_id, run_id), paths)
        left = {record.path: record.unkept for record in records if record.unkept}
        kept = [record for record in records if not record.unkept]
        if not kept:
            raise Conflict("The previous content of the run's files was not saved", files=left)
        if sum(record.before_size or 0 for record in kept) > MAX_TOGETHER_BYTES:
            raise Conflict(
                f"The files exceed {MAX_TOGETHER_BYTES} bytes together; name some of "
                "them in 'paths'"
            )
        project = self._projects.get(kept[0].project_id)
        restored_as = new_id("undo")
        files = self.watched(session_id, restored_as, project.id, restores=run_id)
        putting_back = RestorePlan(kept, await self._contents(kept), force=force)

        async def still_right(edits: Sequence[Edited]) -> None:
            if is_active():
                raise _busy()
            stay_in_place(kept, edits)

        self._cache.written(project.id)
        try:
            wanted = [record.path for record in kept]
            edits = await files.apply(wanted, putting_back, durable=True, before_write=still_right)
        finally:
            self._cache.written(project.id)
        written = tuple(edit.path for edit in edits)
        unchanged = tuple(path for path in wanted if path not in putting_back.written)
        self._note(session_id, run_id, actor, restored_as, written, force=force)
        return Restored(restored_as, written, unchanged, left)

    def watched(
        self, session_id: str, run_id: str, project_id: str, *, restores: str = ""
    ) -> FileOperations:
        """Return the file operations of a project; changes are listed under `run_id`.

        Raises:
            NotFound: the project does not exist.
        """
        project = self._projects.get(project_id)
        origin = ChangeOrigin(session_id, run_id, project_id, run_id, restores=restores)
        return self._workspace_watch.operations(project, origin).files

    def _note(
        self,
        session_id: str,
        run_id: str,
        actor: str,
        restored_as: str,
        written: Sequence[str],
        *,
        force: bool,
    ) -> None:
        self._audit.record(
            AuditEntry(
                "checkpoint.restored",
                actor=actor,
                subject=run_id,
                session_id=session_id,
                run_id=restored_as,
                detail={
                    "files": list(written[:MAX_NAMED]),
                    "count": len(written),
                    "forced": force,
                },
            )
        )

    async def _records(self, session_id: str, run_id: str) -> list[Record]:
        records = await self._store.of_run(session_id, run_id)
        if not records:
            raise NotFound(f"Run {run_id!r} changed no files", run_id=run_id)
        return records

    async def _contents(self, records: Sequence[Record]) -> dict[str, FileState | None]:
        def load(record: Record) -> FileState | None:
            if record.before_sha256 is None:
                return None
            return FileState(self._store.blobs.load(record.before_sha256), record.before_mode)

        return await asyncio.to_thread(lambda: {item.path: load(item) for item in records})

    async def _change(self, record: Record) -> FileChange:
        files = self._projects.get(record.project_id).operations.files
        now: bytes | None = None
        is_known = True
        try:
            if await files.stat(record.path) is not None:
                now = await files.read(record.path, max_bytes=MAX_KEPT_BYTES)
        except TollgateError:
            is_known = False
        return await asyncio.to_thread(self._compared, record, now, is_known=is_known)

    def _compared(self, record: Record, now: bytes | None, *, is_known: bool) -> FileChange:
        if record.unkept:
            return FileChange(record, "unkept", None)
        if not is_known:
            return FileChange(record, "changed_since", None)
        digest = None if now is None else digest_of(now)
        state: State = "changed_since"
        if digest == record.before_sha256:
            state = "as_before"
        elif digest == record.after_sha256:
            state = "restorable"
        before = None
        if record.before_sha256 is not None:
            before = self._store.blobs.load(record.before_sha256)
        return FileChange(record, state, _diff(record.path, before, now))


def _of_run(records: Sequence[Record]) -> RunChanges:
    return RunChanges(
        records[0].run_id,
        records[0].restores,
        min(record.created_at for record in records),
        max(record.changed_at for record in records),
        tuple(sorted(records, key=lambda record: record.path)),
    )


def _diff(path: str, before: bytes | None, now: bytes | None) -> FileDiff | None:
    try:
        texts = [None if data is None else data.decode() for data in (before, now)]
    except UnicodeDecodeError:
        return None
    return unified_diff(path, *texts)


def _busy() -> Busy:
    return Busy("A run is active in this session; wait for it or cancel it, then restore")
