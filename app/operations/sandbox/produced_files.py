"""Files left by code in its folder, read without following links, within limits."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from app.operations.protocols.code import ProducedFile
from app.operations.sandbox.folders import enter_folder

MAX_FILES = 20
MAX_FILE_BYTES = 10 << 20
MAX_TOTAL_BYTES = 30 << 20
_MAX_DEPTH = 8
_MAX_ENTRIES = 10_000
_CHUNK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, order=True)
class _Found:
    size: int
    path: str


def read_produced(folder: str) -> tuple[tuple[ProducedFile, ...], int]:
    """Return the files in `folder`, smallest first, and the number of omitted ones; blocks.

    Call it only once nothing writes there. Inaccessible folders are made accessible. Links, devices
    and names that are not text are skipped, as are hidden folders and `__pycache__`.
    """
    try:
        top = enter_folder(None, folder)
    except OSError:  # replaced by the code
        return (), 0
    try:
        found = sorted(_walk(top))
        return _read_all(top, found)
    finally:
        os.close(top)


def _walk(top: int) -> Iterator[_Found]:
    seen = 0
    waiting = deque([("", 0)])
    while waiting:
        path, depth = waiting.popleft()
        for name, status in _entries(top, path):
            seen += 1
            if seen > _MAX_ENTRIES:
                return
            inner = f"{path}{name}"
            if stat.S_ISREG(status.st_mode):
                yield _Found(status.st_size, inner)
            elif stat.S_ISDIR(status.st_mode) and depth < _MAX_DEPTH and not _skipped(name):
                waiting.append((f"{inner}/", depth + 1))


def _entries(top: int, path: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(OSError):
        descriptor = _open_inner(top, path, _FOLDER)
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if entry.name.isprintable():
                        yield entry.name, entry.stat(follow_symlinks=False)
        finally:
            os.close(descriptor)


def _open_inner(top: int, path: str, flags: int) -> int:
    """Open `path` step by step, through no link."""
    here = os.dup(top)
    *folders, last = path.rstrip("/").split("/")
    try:
        for name in folders:
            inner = os.open(name, _FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        return os.open(last or ".", flags, dir_fd=here)
    finally:
        os.close(here)


def _read_all(top: int, found: list[_Found]) -> tuple[tuple[ProducedFile, ...], int]:
    files: list[ProducedFile] = []
    total = 0
    for one in found:
        if len(files) == MAX_FILES or total + one.size > MAX_TOTAL_BYTES:
            break
        data = _read(top, one)
        if data is not None:
            files.append(ProducedFile(one.path, data))
            total += len(data)
    return tuple(files), len(found) - len(files)


def _read(top: int, one: _Found) -> bytes | None:
    """Return None for a file that is too large or unreadable."""
    if one.size > MAX_FILE_BYTES:
        return None
    try:
        descriptor = _open_inner(top, one.path, _FILE)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        chunks = []
        left = one.size
        while left > 0 and (chunk := os.read(descriptor, min(left, _CHUNK))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _skipped(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"
