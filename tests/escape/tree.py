"""The processes and files of this machine, as they are found in /proc and in folders."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def adopt_orphans() -> None:
    """Make every orphan below this process its child, so that none is lost from sight."""
    set_child_subreaper = 36
    if ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0):
        raise OSError("cannot adopt orphans")


def children(pid: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            text = (task / "children").read_text()
            found.update(int(word) for word in text.split())
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
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and runs(int(entry.name)):
            with suppress(OSError):
                told = (entry / "cmdline").read_bytes() + (entry / "comm").read_bytes()
                if token.encode() in told:
                    found.add(int(entry.name))
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
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
            return True
        # a main thread that ended leaves the others running
        return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    return False


def links(folder: str) -> dict[str, str]:
    """Where the links of a folder lead; none when it cannot be read."""
    found = {}
    with suppress(OSError):
        for link in Path(folder).iterdir():
            with suppress(OSError):
                found[link.name] = str(link.readlink())
    return found


def below(folder: Path) -> Iterator[Path]:
    """Everything in `folder` that a path can name, however deep it is nested."""
    pending = [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                yield Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
