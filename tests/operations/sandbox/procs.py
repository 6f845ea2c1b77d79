"""Looking at the machine's processes from outside."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path


def marker() -> str:
    """A number of seconds to sleep that no other process sleeps."""
    return f"600.{secrets.randbelow(10**9):09}"


def with_marker(mark: str) -> list[int]:
    """Living processes whose command line holds `mark`."""
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and mark.encode() in _read(entry / "cmdline")
    ]


def parent(pid: int) -> int:
    return int(_fields(pid)[1])


def alive(pid: int) -> bool:
    fields = _fields(pid)
    return bool(fields) and fields[0] not in ("Z", "X")


def niceness(pid: int) -> int:
    return int(_fields(pid)[16])


def share_of(pid: int) -> tuple[str, str]:
    """Its session, and how nice that is as a whole where the kernel shares by sessions."""
    whole = _read(Path(f"/proc/{pid}/autogroup")).decode()
    return _fields(pid)[3], whole.partition(" ")[2].strip()


def environment(pid: int) -> dict[str, str]:
    lines = _read(Path(f"/proc/{pid}/environ")).decode().split("\0")
    return dict(line.split("=", 1) for line in lines if line)


def is_folder(path: str) -> bool:
    return Path(path).is_dir()


def open_files(pid: int) -> list[str]:
    """What its descriptors and its working directory lead to."""
    links = [*Path(f"/proc/{pid}/fd").iterdir(), Path(f"/proc/{pid}/cwd")]
    return [str(link.readlink()) for link in links]


async def until_gone(*pids: int, mark: str = "") -> None:
    """Return when none of them is there any more; a test's timeout ends the wait."""
    while True:
        if not any(alive(pid) for pid in pids) and not (mark and with_marker(mark)):
            return
        await asyncio.sleep(0)


async def until_started(mark: str, count: int) -> list[int]:
    """Return the processes with `mark` once there are `count`."""
    while True:
        if len(found := with_marker(mark)) >= count:
            return found
        await asyncio.sleep(0)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _fields(pid: int) -> list[str]:
    return _read(Path(f"/proc/{pid}/stat")).decode().rpartition(")")[2].split()
