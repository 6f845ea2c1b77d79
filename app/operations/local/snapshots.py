"""Snapshots of files, and their restoration.

Files are opened beneath the workspace's root, so no link leads out. Everything here blocks.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from app.core.errors import TollgateError
from app.operations.local.beneath import Beneath
from app.operations.local.owners import give_file
from app.operations.local.steps import Signature, signature_of, write_all

MAX_BYTES = 8 << 20
_MAX_TOTAL = 64 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """Previous state of a file.

    Attributes:
        data: None for a link, and for anything but a plain file within the size limit.
        link: target of a link, as written.
    """

    signature: Signature
    data: bytes | None
    mode: int
    link: str | None = None

    @property
    def is_known(self) -> bool:
        """Return whether it is complete, so that the file can be restored."""
        return self.data is not None or self.link is not None

    @property
    def blob(self) -> bytes:
        """Return git's ID of this content; empty if unknown."""
        if self.data is None:
            return b""
        start = b"blob %d\0" % len(self.data)
        return hashlib.sha1(start + self.data, usedforsecurity=False).digest()

    def is_same(self, other: FileSnapshot) -> bool:
        """Return whether the content is equal; times are ignored."""
        if self.signature == other.signature:
            return True
        mine, others = (self.data, self.link, self.mode), (other.data, other.link, other.mode)
        return self.is_known and mine == others


Snapshot = dict[str, FileSnapshot]


class Snapshots:
    """Snapshots of one workspace. Files unchanged since the last one are not read again."""

    def __init__(self, beneath: Beneath) -> None:
        self._beneath = beneath
        self._last: Snapshot = {}

    def take(self, paths: Iterable[str], most: int) -> Snapshot:
        """Return the files at `paths`, except folders; at most `most` of them."""
        found: Snapshot = {}
        room = _MAX_TOTAL
        for path in paths:
            kept = self._kept(path, room)
            if kept is not None:
                found[path] = kept
                room -= len(kept.data or b"")
            if len(found) >= most:
                break
        self._last = found
        return found

    def _kept(self, path: str, room: int) -> FileSnapshot | None:
        try:
            with self._beneath.parent(path, follow=False) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    return None
                signature = signature_of(status)
                last = self._last.get(path)
                if last is not None and last.signature == signature:
                    return last
                mode = status.st_mode & 0o777
                if stat.S_ISLNK(status.st_mode):
                    return FileSnapshot(signature, None, mode, os.readlink(name, dir_fd=folder))
                plain = stat.S_ISREG(status.st_mode) and status.st_size <= min(MAX_BYTES, room)
                return FileSnapshot(signature, _content(folder, name) if plain else None, mode)
        except (TollgateError, OSError):
            return None

    def led_to(self, path: str) -> str | None:
        """Return the final target of a link, relative to the root; None outside it."""
        try:
            with self._beneath.parent(path, follow=True) as (folder, name):
                place = self._beneath.place(folder, name, path)
        except (TollgateError, OSError):
            return None
        return None if place.startswith("/") else place

    def put_back(self, path: str, before: FileSnapshot | None) -> bool:
        """Restore or remove a file; return whether it succeeded.

        If its content is unknown, the present file is renamed instead.
        """
        try:
            with self._beneath.parent(path, follow=False) as (folder, name):
                if before is None:
                    os.unlink(name, dir_fd=folder)
                    return True
                fresh = f".{secrets.token_hex(8)}.tmp"
                if before.link is not None:
                    _link(folder, fresh, before.link)
                elif before.data is not None:
                    _write(folder, fresh, name, before)
                else:
                    aside = f"{name}.changed-{secrets.token_hex(4)}"
                    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
                    return True
                try:
                    os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
                except OSError:
                    os.unlink(fresh, dir_fd=folder)
                    raise
                return True
        except (TollgateError, OSError):
            return False


def _content(folder: int, name: str) -> bytes | None:
    descriptor = os.open(name, _READ, dir_fd=folder)
    try:
        parts: list[bytes] = []
        room = MAX_BYTES + 1
        while room > 0 and (part := os.read(descriptor, room)):
            parts.append(part)
            room -= len(part)
    finally:
        os.close(descriptor)
    # It may have grown since its size was read.
    return b"".join(parts) if room > 0 else None


def _write(folder: int, fresh: str, name: str, kept: FileSnapshot) -> None:
    assert kept.data is not None
    descriptor = os.open(fresh, _NEW, 0o600, dir_fd=folder)
    try:
        give_file(descriptor, folder, name)
        write_all(descriptor, kept.data)
        os.fchmod(descriptor, kept.mode)
    finally:
        os.close(descriptor)


def _link(folder: int, fresh: str, target: str) -> None:
    os.symlink(target, fresh, dir_fd=folder)
    if os.geteuid() == 0:
        owner = os.fstat(folder)
        with suppress(OSError):
            os.chown(fresh, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
