"""Rows of checkpoints: one per file that a run changed, with its previous state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import ToolFailed
from app.db.statements import ADD_CHECKPOINT
from app.db.writer import DatabaseWriter, Transaction
from app.execution.checkpoints.blobs import BlobStore, digest_of
from app.operations.protocols.files import Edited

MAX_KEPT_BYTES = 16 << 20
"""Larger files are changed without saving their content, and are listed as such."""

_COLUMNS = (
    "session_id, run_id, path, project_id, operation_id, before_sha256, before_size,"
    " before_mode, unkept, after_sha256, restores, created_at, changed_at"
)
_OF_SESSION = (
    f"SELECT {_COLUMNS} FROM checkpoints WHERE session_id = ?"  # noqa: S608 - constants
    " ORDER BY created_at, path"
)
_OF_RUN = f"SELECT {_COLUMNS} FROM checkpoints WHERE session_id = ? AND run_id = ?"  # noqa: S608


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """Origin of a change.

    Attributes:
        run_id: ID of the run; without a run, the operation ID of the call.
        restores: ID of the run being undone; empty for changes by tools.
    """

    session_id: str
    run_id: str
    project_id: str
    operation_id: str
    restores: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One file before and after one run: a row of `checkpoints`.

    Attributes:
        before_sha256: None if there was no file, or its content was not saved.
        before_size: in bytes; `before_mode`: permission bits.
        unkept: reason why the previous content was not saved; empty if it was.
        after_sha256: None if the run deleted the file.
    """

    session_id: str
    run_id: str
    path: str
    project_id: str
    operation_id: str
    before_sha256: str | None
    before_size: int | None
    before_mode: int | None
    unkept: str
    after_sha256: str | None
    restores: str
    created_at: str
    changed_at: str

    @property
    def existed(self) -> bool:
        """Return whether the file existed before the run."""
        return self.before_sha256 is not None or bool(self.unkept)


class CheckpointStore:
    """Store of file states, written before the files change."""

    def __init__(self, blobs: BlobStore, db: DatabaseWriter, clock: Clock) -> None:
        self.blobs = blobs
        self._db = db
        self._clock = clock

    async def record(self, origin: ChangeOrigin, edits: Sequence[Edited]) -> list[Record]:
        """Store the state of files about to change. The rows are committed on return.

        Only the first change of a run stores the previous state; later ones update the state after.

        Raises:
            StorageUnavailable: the state cannot be stored, so nothing must be written.
            ToolFailed: `invalid_path`: the database cannot store the name.
        """
        for edit in edits:
            _check_name(edit.path)
        records = await asyncio.to_thread(lambda: [self._record(origin, edit) for edit in edits])
        self._append(records)
        await self._db.flush()
        return records

    def take_back(self, records: Sequence[Record]) -> None:
        """Remove the record of a change that was not written.

        Raises:
            StorageUnavailable: the write queue is full.
        """
        self._append([replace(record, after_sha256=record.before_sha256) for record in records])

    def _append(self, records: Sequence[Record]) -> None:
        for record in records:
            self._db.append(ADD_CHECKPOINT, astuple(record))

    def _record(self, origin: ChangeOrigin, edit: Edited) -> Record:
        moment = isoformat(self._clock.now())
        unkept: str = edit.unread or ""
        digest = size = None
        if edit.before is not None:
            size = len(edit.before)
            if size > MAX_KEPT_BYTES:
                unkept = "too_large"
            else:
                digest = self.blobs.keep(edit.before)
        return Record(
            origin.session_id,
            origin.run_id,
            edit.path,
            origin.project_id,
            origin.operation_id,
            digest,
            size,
            edit.mode,
            unkept,
            None if edit.after is None else digest_of(edit.after),
            origin.restores,
            moment,
            moment,
        )

    async def of_session(self, session_id: str) -> list[Record]:
        """Return all changes of a session, oldest first.

        Raises:
            StorageUnavailable: the database is currently unavailable.
        """
        return await self._fetch(_OF_SESSION, (session_id,))

    async def of_run(self, session_id: str, run_id: str) -> list[Record]:
        """Return the files that a run changed, by path."""
        found = await self._fetch(_OF_RUN, (session_id, run_id))
        return sorted(found, key=lambda record: record.path)

    async def _fetch(self, sql: str, row: tuple[str, ...]) -> list[Record]:
        def fetch(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(sql, row)

        return [Record(*found) for found in await self._db.transact(fetch)]


def _check_name(path: str) -> None:
    """Refuse names that the database cannot store, because the writer drops such rows."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ToolFailed(
            "The file's name is not UTF-8, so its content could not be restored; rename it first",
            code="invalid_path",
        ) from None
