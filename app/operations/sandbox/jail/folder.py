"""Entry of the working folder, beneath the root so that no link leads out; counting of files."""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from contextlib import suppress

from app.operations.sandbox.jail import kernel

_BENEATH, _NO_MAGIC_LINKS = 0x08, 0x02
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_TRIES = 128
_COUNTING_S = 2.0
_BLOCK = 512


def enter(root: str, relative: str) -> None:
    """Make `relative` below `root` the current directory.

    Raises:
        OSError: EXDEV if it leads out of `root`; otherwise errors of the kernel.
    """
    base = os.open(root, _FOLDER)
    try:
        descriptor = _open_beneath(base, relative)
    finally:
        os.close(base)
    try:
        os.fchdir(descriptor)
    finally:
        os.close(descriptor)


def open_plain(path: str) -> int:
    """Open the folder at an absolute path none of whose components is a link.

    Raises:
        OSError: ENOTDIR if it contains a link; otherwise errors of the kernel.
    """
    top = os.open("/", _FOLDER)
    try:
        return _walk(top, path)
    finally:
        os.close(top)


def bytes_since(path: str, since_ns: int, limit: int) -> int:
    """Return the bytes of files below `path` that changed since then; above `limit`, the count so
    far.

    As in `count_since`, a tree that hides a part counts as above the limit.
    """
    deadline = time.monotonic() + _COUNTING_S
    waiting, found = [path], 0
    linked: set[tuple[int, int]] = set()
    while waiting and found <= limit:
        if time.monotonic() > deadline:
            return limit + 1
        try:
            found += _new_bytes(waiting, since_ns, linked)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                return limit + 1
    return found


def _new_bytes(waiting: list[str], since_ns: int, linked: set[tuple[int, int]]) -> int:
    """Count those of the last folder of `waiting`, which is replaced by its own folders.

    Args:
        linked: the files with several names that were counted, by device and inode.
    """
    found = 0
    with os.scandir(waiting.pop()) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
                    continue
                file = (status.st_dev, status.st_ino)
                if status.st_ctime_ns < since_ns or file in linked:
                    continue
                if status.st_nlink > 1:
                    linked.add(file)
                found += status.st_blocks * _BLOCK
    return found


def count_since(path: str, since_ns: int, limit: int, seconds: float) -> int | None:
    """Return how many entries below `path` are new since then; counting stops above `limit`.

    A tree that hides a part counts as above it: too deep for a path, or inaccessible to its owner.

    Returns:
        None if it is too large to count within `seconds`.
    """
    deadline = time.monotonic() + seconds
    waiting, found = [path], 0
    while waiting and found <= limit:
        if time.monotonic() > deadline:
            return None
        try:
            found += _new_entries(waiting, since_ns)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                return limit + 1
    return found


def _new_entries(waiting: list[str], since_ns: int) -> int:
    """Count those of the last folder of `waiting`, which is replaced by its own folders."""
    found = 0
    with os.scandir(waiting.pop()) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                found += entry.stat(follow_symlinks=False).st_ctime_ns >= since_ns
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return found


def _open_beneath(base: int, relative: str) -> int:
    how = struct.pack("QQQ", _FOLDER, 0, _BENEATH | _NO_MAGIC_LINKS)
    for _ in range(_TRIES):
        try:
            return kernel.syscall("openat2", base, os.fsencode(relative) or b".", how, len(how))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EINTR):
                continue
            if error.errno in (errno.ENOSYS, errno.EPERM):
                return _walk(base, relative)
            raise
    raise OSError(errno.EAGAIN, "the folders keep changing", relative)


def _walk(base: int, relative: str) -> int:
    """Open one component at a time, through no link and never upwards: stricter than openat2."""
    if ".." in relative.split("/"):
        raise OSError(errno.EXDEV, "leads upwards", relative)
    here = os.dup(base)
    try:
        for name in relative.split("/"):
            if name in ("", "."):
                continue
            below = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
    except OSError:
        os.close(here)
        raise
    return here
