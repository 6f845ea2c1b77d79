"""Limits of this process, their current use, and errors caused by reaching them."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import Overloaded

_RETRY_MS = 2000
_PAGE = os.sysconf("SC_PAGE_SIZE")
_CGROUP = Path("/sys/fs/cgroup")
_FEW_FILES = 64
_PART_OF_FILES = 8
_LITTLE_MEMORY = 64 << 20
_PART_OF_MEMORY = 10
_FEW_PROCESSES = 16
_REASONS = {
    errno.EMFILE: "open files",
    errno.ENFILE: "open files on this machine",
    errno.ENOMEM: "memory",
    errno.EAGAIN: "processes",
}


@dataclass(frozen=True, slots=True)
class Use:
    """Use of a limited resource; `reserve` must stay free for existing work."""

    used: int
    limit: int
    reserve: int

    @property
    def is_short(self) -> bool:
        return self.used > self.limit - self.reserve

    @property
    def has_recovered(self) -> bool:
        """True if enough is free again for the next request not to exhaust it."""
        return self.used <= self.limit - self.reserve - self.reserve // 4


def file_limit() -> int:
    """Return the maximum number of file descriptors of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20


def open_files() -> Use:
    """Return the use of file descriptors of this process."""
    limit = file_limit()
    return Use(_descriptors(), limit, max(_FEW_FILES, limit // _PART_OF_FILES))


def address_space() -> Use | None:
    """Return the use of the `ulimit -v` limit, or None without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return None
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * _PAGE
    return Use(used, soft, max(_LITTLE_MEMORY, soft // _PART_OF_MEMORY))


def cgroup_memory() -> Use | None:
    """Return the memory use of the container or unit, without memory the kernel can reclaim."""
    use = _cgroup("memory.current", "memory.max")
    if use is None:
        return None
    used, limit = use
    folder = _own_cgroup()
    assert folder is not None
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "inactive_file":
                used -= int(value)
    return Use(used, limit, min(max(_LITTLE_MEMORY, limit // _PART_OF_MEMORY), limit // 4))


def cgroup_processes() -> Use | None:
    """Return the process and thread count of the container or unit."""
    use = _cgroup("pids.current", "pids.max")
    return None if use is None else Use(*use, min(_FEW_PROCESSES, use[1] // 4))


def memory_room() -> int | None:
    """Return the number of bytes still available, or None without a limit."""
    uses = [use for use in (address_space(), cgroup_memory()) if use is not None]
    return min((use.limit - use.used for use in uses), default=None)


def overload_of(error: BaseException) -> Overloaded | None:
    """Return `Overloaded` for an error caused by a limit of the machine; None for others."""
    if isinstance(error, MemoryError):
        why = _REASONS[errno.ENOMEM]
    elif isinstance(error, RuntimeError) and "start new thread" in str(error):
        why = "threads"
    elif isinstance(error, OSError) and error.errno in _REASONS:
        why = _REASONS[error.errno]
    else:
        return None
    return Overloaded(
        f"This machine has reached its limit of {why}; try again later", retry_after_ms=_RETRY_MS
    )


def _descriptors() -> int:
    # Before Linux 6.2 the size is 0, so the descriptors must be counted.
    return os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))  # noqa: PTH116, PTH208


def _cgroup(current: str, most: str) -> tuple[int, int] | None:
    folder = _own_cgroup()
    if folder is None:
        return None
    try:
        limit = (folder / most).read_text(encoding="ascii").strip()
        return None if limit == "max" else (int((folder / current).read_text("ascii")), int(limit))
    except (OSError, ValueError):
        return None


def _own_cgroup() -> Path | None:
    """Return the folder of this process's cgroup (version 2), or None."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            if line.startswith("0::"):
                folder = _CGROUP / line[3:].lstrip("/")
                return folder if folder.is_dir() else _CGROUP
    return None
