"""The rows of checkpoints: one for each file that a run changed, with its state before."""

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
"A larger file is changed without saving its content, and is listed as such."

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
    """Whose change it is.

    Attributes:
        run_id: the run; the call's operation id where there is no run.
        restores: the run that is being undone; empty for changes of tools.
    """

    session_id: str
    run_id: str
    project_id: str
    operation_id: str
    restores: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One file around one run: a row of `checkpoints`.

    Attributes:
        before_sha256: None when there was no file, or none whose content was kept.
        before_size: in bytes; `before_mode`: its permission bits.
        unkept: why its content before was not kept; empty when it was.
        after_sha256: None when the run deleted it.
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
        """Whether there was something before the run."""
        return self.before_sha256 is not None or bool(self.unkept)


class CheckpointStore:
    """Writes a file's state down before the file changes, and finds it again."""

    def __init__(self, blobs: BlobStore, db: DatabaseWriter, clock: Clock) -> None:
        self.blobs = blobs
        self._db = db
        self._clock = clock

    async def record(self, origin: ChangeOrigin, edits: Sequence[Edited]) -> list[Record]:
        """Keep what is about to change. When it returns, it is in the database.

        Only the first change of a run says what was before; later ones move what is after.

        Raises:
            StorageUnavailable: it cannot be kept, so nothing must be written.
            ToolFailed: `invalid_path`: the database cannot hold such a name.
        """
        for edit in edits:
            _check_name(edit.path)
        records = await asyncio.to_thread(lambda: [self._record(origin, edit) for edit in edits])
        self._append(records)
        await self._db.flush()
        return records

    def take_back(self, records: Sequence[Record]) -> None:
        """What was recorded did not come to be written: after it is as before it.

        Raises:
            StorageUnavailable: nothing more can be queued.
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
        """Everything a session changed, the oldest first.

        Raises:
            StorageUnavailable: the database cannot be asked at the moment.
        """
        return await self._fetch(_OF_SESSION, (session_id,))

    async def of_run(self, session_id: str, run_id: str) -> list[Record]:
        """The files that one run changed, by path."""
        found = await self._fetch(_OF_RUN, (session_id, run_id))
        return sorted(found, key=lambda record: record.path)

    async def _fetch(self, sql: str, row: tuple[str, ...]) -> list[Record]:
        def fetch(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(sql, row)

        return [Record(*found) for found in await self._db.transact(fetch)]


def _check_name(path: str) -> None:
    """The database writer lets go of a row that the database refuses: it must not come to that."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ToolFailed(
            "The file's name is not UTF-8, so its content could not be restored; rename it first",
            code="invalid_path",
        ) from None
