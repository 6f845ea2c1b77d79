"""Complete, bounded reading of a skill's folder, without following links.

Everything shown, run or trusted of a skill comes from one such reading, so that no other bytes can
be substituted between check and use. Everything blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from app.domain.skills import SkillFile
from app.operations.local.beneath import best_opener

DOCUMENT = "SKILL.md"
MAX_FILES = 200
MAX_FILE_BYTES = 5 << 20
MAX_TOTAL_BYTES = 20 << 20
_MAX_DEPTH = 6
_MAX_ENTRIES = 1000
_MAX_SHOWN = 20
_CHUNK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class TooMuch(Exception):
    """The folder exceeds a limit; the message says which."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Contents of a skill's folder.

    Attributes:
        files: path and status of each regular file, by path.
        folders: paths of the folders below it that were listed.
        left_out: links, devices and names that are not text, which are ignored.
    """

    files: tuple[tuple[str, os.stat_result], ...]
    folders: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def size(self) -> int:
        """Return the total bytes of its files."""
        return sum(status.st_size for _, status in self.files)

    @property
    def fingerprint(self) -> tuple[tuple[str | int, ...], ...]:
        """Return a value that changes with any file; for caching, not for trust."""
        return tuple(
            (path, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_mode)
            for path, s in self.files
        )


@dataclass(frozen=True, slots=True)
class Contents:
    """Files of one version, and its digest."""

    files: dict[str, SkillFile]
    digest: str


def list_folder(folder: int) -> Listing:
    """List an open folder, by names and status only.

    Raises:
        TooMuch: the limits of files or depth are exceeded.
    """
    walk = _FolderWalk()
    files = sorted(_walked(folder, "", 0, walk))
    if len(files) > MAX_FILES:
        raise TooMuch(f"it contains more than {MAX_FILES} files")
    for path, status in files:
        if status.st_size > MAX_FILE_BYTES:
            raise TooMuch(f"the file {path!r} exceeds {MAX_FILE_BYTES} bytes")
    listing = Listing(tuple(files), tuple(walk.folders), tuple(walk.left_out[:_MAX_SHOWN]))
    if listing.size > MAX_TOTAL_BYTES:
        raise TooMuch(f"its files exceed {MAX_TOTAL_BYTES} bytes in total")
    return listing


def read_files(folder: int, listing: Listing) -> Contents:
    """Read every listed file in its current state.

    Raises:
        TooMuch: files have grown beyond the limits meanwhile.
    """
    files: dict[str, SkillFile] = {}
    room = MAX_TOTAL_BYTES
    for path, _ in listing.files:
        # Files deleted or replaced meanwhile are ignored.
        with suppress(OSError):
            file = _read(folder, path, min(room, MAX_FILE_BYTES))
            if file is not None:
                files[path] = file
                room -= len(file.data)
    return Contents(files, digest_of(files))


def digest_of(files: dict[str, SkillFile]) -> str:
    """Return the SHA-256 of names, executable bits and contents; equal for equal skills
    everywhere.
    """
    whole = sha256()
    for path in sorted(files):
        file, name = files[path], path.encode()
        whole.update(b"%d %d %d\n" % (len(name), file.is_executable, len(file.data)))
        whole.update(name)
        whole.update(file.data)
    return whole.hexdigest()


@dataclass(slots=True)
class _FolderWalk:
    """What a walk meets beside files; `room` is how many more entries it may meet."""

    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    room: int = _MAX_ENTRIES


def _walked(
    top: int, path: str, depth: int, walk: _FolderWalk
) -> Iterator[tuple[str, os.stat_result]]:
    folder = best_opener()(top, path or ".", _FOLDER)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                walk.room -= 1
                if walk.room < 0:
                    raise TooMuch(f"it contains more than {_MAX_ENTRIES} entries")
                inner = f"{path}/{entry.name}" if path else entry.name
                if not _is_text(inner):
                    walk.left_out.append(repr(inner)[:200])
                    continue
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    yield from _entry(top, inner, status, depth, walk)
    finally:
        os.close(folder)


def _entry(
    top: int, path: str, status: os.stat_result, depth: int, walk: _FolderWalk
) -> Iterator[tuple[str, os.stat_result]]:
    if stat.S_ISREG(status.st_mode):
        yield path, status
    elif not stat.S_ISDIR(status.st_mode):
        walk.left_out.append(f"{path} (not a regular file)"[:200])
    elif path.rpartition("/")[2] in ("__pycache__", ".git", "node_modules"):
        walk.left_out.append(f"{path}/"[:200])
    elif depth == _MAX_DEPTH:
        raise TooMuch(f"its folders are nested more than {_MAX_DEPTH} levels deep")
    else:
        walk.folders.append(path)
        with suppress(OSError):  # replaced by a link meanwhile
            yield from _walked(top, path, depth + 1, walk)


def _read(folder: int, path: str, limit: int) -> SkillFile | None:
    descriptor = best_opener()(folder, path, _FILE)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        chunks: list[bytes] = []
        size = 0
        while chunk := os.read(descriptor, _CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise TooMuch(f"the file {path!r} is too large")
        return SkillFile(path, b"".join(chunks), bool(status.st_mode & stat.S_IXUSR))
    finally:
        os.close(descriptor)


def _is_text(path: str) -> bool:
    return path.isprintable() and len(path) <= 500
