"""Persistent cache of a project's programs: one folder, bounded, for this project alone.

It is mounted at `.cache` of the home of each command, so that what pip, npm or Go have downloaded
is there again after a restart. Another project has another folder, and neither can see the other's.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_log = logging.getLogger(__name__)

FOLDER = ".cache"
_LOOK_AFTER_BYTES = 64 << 20
_LEFT = 0.8
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class _CachedFile:
    used: float
    size: int
    folder: str
    name: str


class ProjectCache:
    """Cache of one project. `ready` and `trim` block.

    Args:
        folder: created when it is first needed.
        max_bytes: the least recently used files above it are deleted.
        uid: user of the programs, if different.
    """

    def __init__(self, folder: Path, max_bytes: int, uid: int | None = None) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._uid = uid
        self._written = 0

    def ready(self) -> str | None:
        """Return the folder's real path; None if it cannot be created, which fails no command."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._uid is not None:
                os.chown(self._folder, self._uid, self._uid)
            return str(self._folder.resolve(strict=True))
        except OSError as error:
            _log.warning("cannot use the cache %s: %s", self._folder, error.strerror)
            return None

    def is_due(self, written: int) -> bool:
        """Count bytes that a program has written; return whether `trim` should look."""
        self._written += written
        if self._written < _LOOK_AFTER_BYTES:
            return False
        self._written = 0
        return True

    def trim(self) -> int:
        """Delete the least recently used files above the limit; return the bytes freed.

        Follows no link. A program that uses the cache meanwhile finds files missing, as after any
        cleanup of a cache.
        """
        files = self._files()
        excess = sum(file.size for file in files) - self._max_bytes
        if excess <= 0:
            return 0
        excess += int(self._max_bytes * (1 - _LEFT))
        freed = 0
        unwanted: dict[str, set[str]] = {}
        for file in sorted(files, key=lambda file: file.used):
            if freed >= excess:
                break
            unwanted.setdefault(file.folder, set()).add(file.name)
            freed += file.size
        self._delete(unwanted)
        return freed

    def _files(self) -> list[_CachedFile]:
        found = []
        for folder, _, names, descriptor in os.fwalk(self._folder, follow_symlinks=False):
            for name in names:
                with suppress(OSError):
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    used = max(status.st_atime, status.st_mtime)
                    found.append(_CachedFile(used, status.st_blocks * _BLOCK, folder, name))
        return found

    def _delete(self, unwanted: dict[str, set[str]]) -> None:
        # Walked again: a folder may have become a link to another place meanwhile.
        for folder, _, names, descriptor in os.fwalk(self._folder, follow_symlinks=False):
            for name in unwanted.get(folder, set()).intersection(names):
                with suppress(OSError):
                    os.unlink(name, dir_fd=descriptor)
