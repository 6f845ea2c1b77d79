"""Files produced by calls: bytes in the data directory, metadata in the database."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from app.core.clock import Clock, isoformat
from app.core.errors import NotFound, StorageUnavailable, ToolFailed
from app.core.ids import new_id
from app.db.statements import ADD_ARTIFACT
from app.db.writer import DatabaseWriter, Transaction

_FIND = "SELECT size FROM artifacts WHERE id = ? AND session_id = ?"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Artifact; `size` in bytes, `sha256` in hex. Readable only in its session."""

    id: str
    session_id: str
    name: str
    media_type: str
    size: int
    sha256: str


class ArtifactStore:
    """Store of artifacts. A file is written before its row."""

    def __init__(self, root: Path, db: DatabaseWriter, clock: Clock) -> None:
        self._root = root
        self._db = db
        self._clock = clock

    def path(self, artifact_id: str) -> Path:
        """Return the path of the bytes. IDs are generated: hex digits, no separators."""
        return self._root / artifact_id[-2:] / artifact_id

    async def save(
        self, session_id: str, name: str, media_type: str, data: bytes, *, operation_id: str | None
    ) -> Artifact:
        """Store `data`.

        Raises:
            StorageUnavailable: the disk is full or the data directory is not writable.
        """
        spool = Spool(self._root)
        await asyncio.to_thread(spool.write, data)
        return await self.adopt(spool, session_id, name, media_type, operation_id=operation_id)

    async def keep(
        self, name: str, media_type: str, data: bytes, *, session_id: str, operation_id: str | None
    ) -> str:
        """Store `data` as tools do; return the artifact's ID."""
        kept = await self.save(session_id, name, media_type, data, operation_id=operation_id)
        return kept.id

    async def adopt(
        self,
        spool: Spool,
        session_id: str,
        name: str,
        media_type: str,
        *,
        operation_id: str | None,
    ) -> Artifact:
        """Turn a finished spool into an artifact."""
        artifact_id = new_id("art")
        size, digest = await asyncio.to_thread(spool.finish, self.path(artifact_id))
        artifact = Artifact(artifact_id, session_id, name, media_type, size, digest)
        self._db.append(
            ADD_ARTIFACT,
            (
                artifact.id,
                session_id,
                operation_id,
                name,
                media_type,
                size,
                digest,
                isoformat(self._clock.now()),
            ),
        )
        return artifact

    async def load(self, artifact_id: str, *, session_id: str, max_bytes: int) -> bytes:
        """Return a complete artifact of a session.

        Raises:
            ToolFailed: the session has no such artifact, or it is larger than `max_bytes`.
            StorageUnavailable: the database is currently unavailable.
        """

        def find(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(_FIND, (artifact_id, session_id))

        found = await self._db.transact(find)
        if not found:
            raise ToolFailed(f"Artifact not found: {artifact_id}", code="artifact_not_found")
        if found[0][0] > max_bytes:
            raise ToolFailed(
                f"Artifact {artifact_id} has {found[0][0]} bytes; at most {max_bytes} can be read",
                code="file_too_large",
            )
        return await self.read(artifact_id)

    async def read(self, artifact_id: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Return bytes of an artifact.

        Raises:
            NotFound: the file no longer exists.
        """
        return await asyncio.to_thread(self._read, artifact_id, offset, limit)

    def _read(self, artifact_id: str, offset: int, limit: int | None) -> bytes:
        try:
            with self.path(artifact_id).open("rb") as file:
                file.seek(offset)
                return file.read(-1 if limit is None else limit)
        except FileNotFoundError:
            raise NotFound(
                f"Artifact {artifact_id!r} no longer exists", artifact_id=artifact_id
            ) from None


class Spool:
    """Growing temporary file next to the artifacts.

    All methods except `discard` block: call them in a thread. A cancelled call can discard the
    spool while a thread is still writing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._file: BinaryIO | None = None
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._is_gone = False
        self.size = 0

    def write(self, data: bytes) -> None:
        """Append data; do nothing if the spool was discarded.

        Raises:
            StorageUnavailable: the write failed; earlier data stays.
        """
        with self._lock:
            if not self._is_gone:
                self._append(data)
        if self._is_gone:
            self.discard()

    def _append(self, data: bytes) -> None:
        try:
            if self._file is None:
                self._root.mkdir(parents=True, exist_ok=True)
                handle, name = tempfile.mkstemp(prefix=".spool-", dir=self._root)
                self._file = os.fdopen(handle, "wb", buffering=0)
                self._name = Path(name)
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise StorageUnavailable(
                f"Cannot store the output ({error.strerror}): free disk space", errno=error.errno
            ) from None
        self._digest.update(data)
        self.size += len(data)

    def finish(self, target: Path) -> tuple[int, str]:
        """Move the file to `target`; return its size in bytes and its SHA-256."""
        if self._file is None:
            self.write(b"")
        assert self._file is not None
        try:
            self._file.close()
            target.parent.mkdir(parents=True, exist_ok=True)
            self._name.replace(target)
        except OSError as error:
            raise StorageUnavailable(
                f"Cannot store the output ({error.strerror}): check the data directory",
                errno=error.errno,
            ) from None
        self._file = None
        return self.size, self._digest.hexdigest()

    def discard(self) -> None:
        """Remove the file, at the latest when the thread that writes to it has finished."""
        self._is_gone = True
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._file is not None:
                self._file.close()
                self._name.unlink(missing_ok=True)
                self._file = None
        finally:
            self._lock.release()
