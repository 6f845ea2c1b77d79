"""Entering the working folder, beneath the root so that no link leads out; counting in it."""

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
        OSError: EXDEV when it leads out of `root`; else as the kernel answers.
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
        OSError: ENOTDIR when there is a link in it; else as the kernel answers.
    """
    top = os.open("/", _FOLDER)
    try:
        return _walk(top, path)
    finally:
        os.close(top)


def bytes_since(path: str, since_ns: int, limit: int) -> int:
    """What the files below `path` hold that were changed since then; beyond `limit`, as far as was
    counted. As in `count_since`, what hides a part is beyond it.
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
    """Those of the last folder of `waiting`, which its own folders replace.

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


def count_since(path: str, since_ns: int, limit: int) -> int:
    """How many entries below `path` are new since then; beyond `limit`, counting stops.

    A tree too large to be counted in time counts as beyond it, and so does one that hides
    a part: too deep for a path, or closed to its owner.
    """
    deadline = time.monotonic() + _COUNTING_S
    waiting, found = [path], 0
    while waiting and found <= limit:
        if time.monotonic() > deadline:
            return limit + 1
        try:
            found += _new_entries(waiting, since_ns)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                return limit + 1
    return found


def _new_entries(waiting: list[str], since_ns: int) -> int:
    """Those of the last folder of `waiting`, which its own folders replace."""
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
    """One component at a time, through no link and never upwards: stricter than openat2."""
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
