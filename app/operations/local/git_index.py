"""Check whether git has a file's exact content under its name, in the index of its work tree.

Files from `git checkout`, `git pull` and `git clone` are in the index. Git itself is not run.
Everything here blocks.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress

from app.core.errors import TollgateError
from app.operations.local.beneath import Beneath

_MAX_INDEX = 64 << 20
_HASH = 20
_FLAGS = 2
_EXTENDED = 0x4000
_MAX_DEPTH = 20


class GitIndex:
    """Indexes of a workspace's repositories, each read once."""

    def __init__(self, beneath: Beneath) -> None:
        self._beneath = beneath
        self._read: dict[str, bytes] = {}

    def has(self, path: str, blob: bytes) -> bool:
        """Return whether the file at `path`, relative to the root, is in its repository's index.

        Args:
            blob: git's ID of its content.
        """
        if not blob:
            return False
        folder = posixpath.dirname(path)
        for _ in range(_MAX_DEPTH):
            index = self._index_of(folder)
            if index:
                return _has(index, os.fsencode(posixpath.relpath(path, folder or ".")), blob)
            if not folder:
                return False
            folder = posixpath.dirname(folder)
        return False

    def _index_of(self, folder: str) -> bytes:
        known = self._read.get(folder)
        if known is None:
            known = self._read[folder] = self._find(folder)
        return known

    def _find(self, folder: str) -> bytes:
        place = f"{folder}/.git" if folder else ".git"
        found = self._bytes(f"{place}/index")
        if found:
            return found
        # The `.git` of a submodule or another work tree is a file with the folder's path.
        named = self._bytes(place)
        if not named.startswith(b"gitdir:"):
            return b""
        target = os.fsdecode(named.removeprefix(b"gitdir:").strip())
        start = "" if target.startswith("/") else folder
        target = target.removeprefix(f"{self._beneath.root}/")
        return self._bytes(posixpath.normpath(posixpath.join(start, target)) + "/index")

    def _bytes(self, path: str) -> bytes:
        with suppress(TollgateError, OSError), self._beneath.file(path) as (descriptor, status):
            if status.st_size <= _MAX_INDEX:
                with os.fdopen(os.dup(descriptor), "rb") as file:
                    return file.read(_MAX_INDEX)
        return b""


def _has(index: bytes, path: bytes, blob: bytes) -> bool:
    """Return whether an entry has this name and content.

    Each entry contains the content's ID, two or four bytes of flags, and the name, terminated by a
    zero byte. In version 4 only the end of a name is stored, after a number that says how much of
    the previous name is dropped.
    """
    shortened = index[4:8] == b"\0\0\0\4"
    at = index.find(blob)
    while at >= 0:
        start = at + _HASH
        flags = int.from_bytes(index[start : start + _FLAGS])
        start += 2 * _FLAGS if flags & _EXTENDED else _FLAGS
        if shortened:
            while start < len(index) and index[start] & 0x80:
                start += 1
            start += 1
        name = index[start : index.find(b"\0", start)]
        if path.endswith(name) if shortened and name else name == path:
            return True
        at = index.find(blob, at + 1)
    return False
