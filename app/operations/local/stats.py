"""Conversion of `os.stat_result` to `FileStat`."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime

from app.operations.protocols.files import FileStat, FileType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def file_type(mode: int) -> FileType:
    """Return the type in `st_mode`; links, devices, sockets and FIFOs are `other`."""
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def to_file_stat(path: str, status: os.stat_result) -> FileStat:
    """Convert a status; `path` is relative to the workspace root."""
    try:
        modified = datetime.fromtimestamp(status.st_mtime, UTC)
    except (OverflowError, ValueError, OSError):  # a file may have any 64-bit time
        modified = _EPOCH
    mode = status.st_mode
    return FileStat(path, file_type(mode), status.st_size, modified, stat.S_IMODE(mode))
