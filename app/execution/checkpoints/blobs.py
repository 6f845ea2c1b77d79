"""Previous contents of changed files, by SHA-256."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from app.core.errors import NotFound, StorageUnavailable


def digest_of(data: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


class BlobStore:
    """Content-addressed blobs in a folder; equal contents are stored once. All methods block."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def _path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest

    def keep(self, data: bytes) -> str:
        """Store `data` and return its digest.

        Raises:
            StorageUnavailable: the disk is full or the data directory is not writable.
        """
        digest = digest_of(data)
        path = self._path(digest)
        try:
            if path.exists():
                return digest
            # The folder contains workspace files: not readable by other users of the machine.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                Path(name).replace(path)
            except BaseException:
                with suppress(OSError):
                    Path(name).unlink()
                raise
        except OSError as error:
            raise StorageUnavailable(
                f"Cannot save the file's content for undo ({error.strerror}), so the "
                "file was not changed: free disk space or check the data directory",
                errno=error.errno,
            ) from None
        return digest

    def load(self, digest: str) -> bytes:
        """Return the content with the digest.

        Raises:
            NotFound: it is missing or damaged.
        """
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            data = None
        if data is None or digest_of(data) != digest:
            raise NotFound("The saved content of a file is missing from the data directory")
        return data
