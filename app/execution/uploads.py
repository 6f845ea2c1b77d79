"""Uploads: files that people put into the workspace of a session, for its tools."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from app.core.errors import AlreadyExists, Forbidden, InvalidInput, ProjectRequired, TooLarge
from app.core.escaping import visible
from app.core.ids import new_id
from app.execution.cache import ResultCache
from app.execution.checkpoints.undo import Undo
from app.governance.audit.log import AuditEntry, AuditLog
from app.operations.protocols.files import FileState, FileStates

if TYPE_CHECKING:
    from app.db.tables import SessionRow

FOLDER = "uploads"
MAX_NAME_BYTES = 200

Change = Literal["created", "replaced", "unchanged"]


@dataclass(frozen=True, slots=True)
class Upload:
    """Uploaded file.

    Attributes:
        path: relative to the root of the workspace.
        size: in bytes.
        sha256: in hex.
        change: `unchanged` if the same bytes were already there.
    """

    path: str
    size: int
    sha256: str
    change: Change


class Uploads:
    """Writes complete files into one folder of a workspace; overwrites only on request."""

    def __init__(self, undo: Undo, cache: ResultCache, audit: AuditLog, *, max_bytes: int) -> None:
        self._undo = undo
        self._cache = cache
        self._audit = audit
        self.max_bytes = max_bytes

    def place(self, session: SessionRow, name: str) -> tuple[str, str]:
        """Return the project and the path for a file name, before its bytes are read.

        Raises:
            Forbidden: uploads are disabled.
            ProjectRequired: the session has no workspace.
            InvalidInput: `name` is not a plain file name.
        """
        if self.max_bytes == 0:
            raise Forbidden("Uploads are disabled: TOLLGATE_MAX_UPLOAD_BYTES is 0")
        if session.project_id is None:
            raise ProjectRequired("uploads")
        return session.project_id, f"{FOLDER}/{_checked(name)}"

    async def keep(
        self, session: SessionRow, name: str, data: bytes, *, actor: str, overwrite: bool = False
    ) -> Upload:
        """Store a file. It is listed among the session's changes and can be undone.

        Args:
            overwrite: replace a file with other bytes.

        Raises:
            AlreadyExists: a different file exists.
            TooLarge: `data` exceeds the limit of one upload.
            NotFound: the project no longer exists.
            ToolFailed: the folder leads out of the workspace, or a folder has the name.
            StorageUnavailable: the disk is full; nothing has changed.
            Forbidden, ProjectRequired, InvalidInput: see `place`.
        """
        project_id, path = self.place(session, name)
        if len(data) > self.max_bytes:
            raise TooLarge(f"An upload must not exceed {self.max_bytes} bytes")
        change: Change = "created"

        def put(found: FileStates) -> FileStates:
            nonlocal change
            there = found[path]
            if there is None:
                change = "created"
            elif there.data == data:
                change = "unchanged"
                return {}
            elif overwrite:
                change = "replaced"
            else:
                raise AlreadyExists(
                    f"File {path!r} already exists; rename yours, or send overwrite=true",
                    path=path,
                )
            return {path: FileState(data, None if there is None else there.mode)}

        files = self._undo.watched(session.id, new_id("upload"), project_id)
        self._cache.written(project_id)
        try:
            await files.apply([path], put, durable=True)
        finally:
            self._cache.written(project_id)
        digest = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
        kept = Upload(path, len(data), digest, change)
        seen = {"sha256": digest, "change": change}
        self._audit.record(
            AuditEntry(
                "file.uploaded",
                actor=actor,
                subject=path,
                session_id=session.id,
                detail={"project_id": project_id, "size": kept.size} | seen,
            )
        )
        return kept


def _checked(name: str) -> str:
    if "/" in name or "\\" in name or name in ("", ".", ".."):
        raise InvalidInput(f"name {name!r} must be a file name without folders", field="query.name")
    if visible(name) != name or "\n" in name:
        raise InvalidInput("name contains invisible characters", field="query.name")
    if len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidInput(
            f"name is longer than {MAX_NAME_BYTES} bytes in UTF-8", field="query.name"
        )
    return name
