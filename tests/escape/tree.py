"""The processes and files of this machine, as they are found in /proc and in folders.

The suite looks into /proc hundreds of thousands of times, so that here the system is called
directly: a `Path` for each look costs several times as much as the look itself.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MOST = 1 << 20


def adopt_orphans() -> None:
    """Make every orphan below this process its child, so that none is lost from sight."""
    set_child_subreaper = 36
    if ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0):
        raise OSError("cannot adopt orphans")


def read(path: str) -> bytes:
    """A file of /proc.

    Raises:
        OSError: it is gone, or not ours to read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = b""
        while part := os.read(descriptor, _MOST):
            found += part
        return found
    finally:
        os.close(descriptor)


def children(pid: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):
        for task in _names(f"/proc/{pid}/task"):
            found.update(map(int, read(f"/proc/{pid}/task/{task}/children").split()))
    return found


def descendants(pid: int) -> set[int]:
    """Every process below `pid` that is not a zombie."""
    found: set[int] = set()
    pending = children(pid)
    while pending:
        child = pending.pop()
        if child not in found:
            found.add(child)
            pending |= children(child)
    return {child for child in found if runs(child)}


def marked(token: str) -> set[int]:
    """Every process of this machine, but this one, that carries `token`."""
    found, own, mark = set(), str(os.getpid()), token.encode()
    for name in _names("/proc"):
        if name.isdigit() and name != own:
            with suppress(OSError):
                reported = read(f"/proc/{name}/cmdline") + read(f"/proc/{name}/comm")
                if mark in reported and runs(int(name)):
                    found.add(int(name))
    return found


def describe(pid: int) -> str:
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")[:80]
        return f"{pid} {Path(f'/proc/{pid}/comm').read_text().strip()}: {command!r}"
    return f"{pid} (gone)"


def exists(pid: int) -> bool:
    """Whether it is there, be it as a zombie."""
    return Path(f"/proc/{pid}").exists()


def runs(pid: int) -> bool:
    with suppress(OSError, IndexError):
        if read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] not in b"ZX":
            return True
        # a main thread that ended leaves the others running
        return len(_names(f"/proc/{pid}/task")) > 1
    return False


def links(folder: str) -> dict[str, str]:
    """Where the links of a folder lead; none when it cannot be read."""
    found = {}
    with suppress(OSError):
        for name in _names(folder):
            with suppress(OSError):
                found[name] = os.readlink(f"{folder}/{name}")  # noqa: PTH115
    return found


def below(folder: Path) -> Iterator[Path]:
    """Everything in `folder` that a path can name, however deep it is nested."""
    return (Path(entry.path) for entry in entries_below(folder))


def entries_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The same as it stands in its folders."""
    pending = [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def _names(folder: str) -> list[str]:
    return os.listdir(folder)  # noqa: PTH208
