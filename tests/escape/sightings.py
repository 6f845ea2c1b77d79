"""What can be seen of a run from outside while it lasts."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.escape.tree import (
    children,
    descendants,
    describe,
    entries_below,
    exists,
    links,
    marked,
    read,
    runs,
)

_ROUTES = "socket:NETLINK"
_POLL_S = 0.03
_MEASURE_S = 0.3
_MEASURE_SHARE = 20  # tens of thousands of files are not counted all the time
_CLAIM_ROUNDS = 5
_COUNTED_LOOKS = 6
_LOOKS_AFTER = 4
_MATTERS = 256 << 20
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ADDRESS_SPACES = ("user", "mnt", "net", "uts", "cgroup", "time")


@dataclass(slots=True)
class Sightings:
    """The most that was seen of anything; bytes, counts.

    Attributes:
        processes: over several looks, as whoever meters them needs a moment.
        descriptors: of one process.
        kinds: what its descriptors stood for, as the kernel names it.
        namespaces: of each kind, how many there were that this process is not in itself.
        touched: what was done to the victim meanwhile.
        left: processes that were still there 5 s after the end.
        longest_gap_s: what was there for less than that may not have been seen.
    """

    memory_bytes: int = 0
    written_bytes: int = 0
    disk_bytes: int = 0
    files: int = 0
    processes: int = 0
    descriptors: int = 0
    own_memory_bytes: int = 0
    kinds: set[str] = field(default_factory=set)
    namespaces: dict[str, int] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    personality: bool = False
    listened: bool = False
    signalled: bool = False
    left: list[str] = field(default_factory=list)
    longest_gap_s: float = 0.0


class Watch:
    """Looks at everything below this process that was not there before, until `stop`.

    Args:
        folders: where the run may leave files.
        listens: whether it answers on a port that was free.
        touches: what it has done to a process that is none of its business.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        listens: Callable[[], bool],
        touches: Callable[[], list[str]],
    ) -> None:
        self.seen = Sightings()
        self.before = descendants(os.getpid())
        self._folders = tuple(folders)
        self._own = _resident(os.getpid())
        self._counts: deque[int] = deque(maxlen=_COUNTED_LOOKS)
        self._unclaimed: Counter[int] = Counter()
        self._ended = threading.Event()
        self._listens = listens
        self._touches = touches
        self._looked = time.monotonic()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()

    def stop(self) -> Sightings:
        self._ended.set()
        self._thread.join()
        self._note_gap()
        self._measure_folders()
        return self.seen

    def _look_on(self) -> None:
        due = 0.0
        while not self._ended.wait(_POLL_S):
            self._look()
            if time.monotonic() >= due:
                began = time.thread_time()
                self._measure_folders()
                due = time.monotonic() + max(
                    _MEASURE_S, _MEASURE_SHARE * (time.thread_time() - began)
                )

    def _note_gap(self) -> None:
        before, self._looked = self._looked, time.monotonic()
        self.seen.longest_gap_s = max(self.seen.longest_gap_s, self._looked - before)

    def _look(self) -> None:
        self._note_gap()
        now = descendants(os.getpid())
        fresh = now - self.before
        seen = self.seen
        self._counts.append(len(fresh))
        if len(self._counts) == _COUNTED_LOOKS:
            seen.processes = max(seen.processes, min(self._counts))
        seen.memory_bytes = max(seen.memory_bytes, _memory_of(now))
        seen.written_bytes = max(seen.written_bytes, sum(map(_written, fresh)))
        seen.own_memory_bytes = max(seen.own_memory_bytes, _resident(os.getpid()) - self._own)
        spaces: dict[str, set[str]] = {}
        own = links("/proc/self/ns")
        for pid in fresh:
            self._look_at(pid, own, spaces)
        for kind, found in spaces.items():
            seen.namespaces[kind] = max(seen.namespaces.get(kind, 0), len(found))
        seen.listened = seen.listened or self._listens()
        seen.touched |= set(self._touches())

        self._reap()

    def _reap(self) -> None:
        """Collect ended orphans; whoever waits for a child of its own comes first."""
        for pid in children(os.getpid()):
            if not runs(pid):
                self._unclaimed[pid] += 1
                if self._unclaimed[pid] > _CLAIM_ROUNDS:
                    with suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)

    def _look_at(self, pid: int, own: dict[str, str], spaces: dict[str, set[str]]) -> None:
        seen = self.seen
        held = links(f"/proc/{pid}/fd")
        seen.descriptors = max(seen.descriptors, len(held))
        kinds = {_kind(pid, name, link) for name, link in held.items() if int(name) > 2}
        if _ROUTES in kinds and _sets_up(pid):
            kinds.discard(_ROUTES)
        seen.kinds |= kinds
        for kind, link in links(f"/proc/{pid}/ns").items():
            if kind in _ADDRESS_SPACES and link != own.get(kind):
                spaces.setdefault(kind, set()).add(link)
        with suppress(OSError, ValueError):
            seen.personality |= int(read(f"/proc/{pid}/personality"), 16) != 0

    def _measure_folders(self) -> None:
        used, count = 0, 0
        for folder in self._folders:
            for entry in entries_below(folder):
                count += 1
                if count <= 300:  # beyond that, counting is enough
                    with suppress(OSError):
                        used += entry.stat(follow_symlinks=False).st_blocks * 512
        self.seen.files = max(self.seen.files, count)
        self.seen.disk_bytes = max(self.seen.disk_bytes, used)


def _sets_up(pid: int) -> bool:
    """Whether it is a supervisor, which sets routes before its tree starts; never the tree."""
    try:
        is_ours = b"jail.zygote" in read(f"/proc/{pid}/cmdline")
        return is_ours and b"Seccomp:\t0" in read(f"/proc/{pid}/status")
    except OSError:
        return False


def left_after(before: set[int], token: str, seconds: float = 5.0) -> list[str]:
    """What still runs of a run `seconds` after its end; returns as soon as nothing does.

    That is less than the 8 s for which the most short-lived of the attempts live on.

    A warm worker that took the place of the used one is no remainder: only their number
    counts, and processes that carry the token. One that forks and ends too fast to be found
    is seen by the orphans it leaves to this process.
    """
    deadline = time.monotonic() + seconds
    known = children(os.getpid())
    looks, last_looks = 0, _LOOKS_AFTER
    while True:
        looks += 1
        now = descendants(os.getpid())
        fresh, gone = now - before, before - now
        found = fresh if len(fresh) > len(gone) else set()
        found |= children(os.getpid()) - known
        if looks >= _LOOKS_AFTER:  # the looks before it decide nothing, and this one is costly
            found |= marked(token)
            if not found:
                return []
        if time.monotonic() > deadline:
            last_looks -= 1
            # One that ended while it was looked at is not left; a chain of them is seen each time.
            if any(map(exists, found)) or last_looks <= 0:
                return [describe(pid) for pid in sorted(found)]
        time.sleep(0.02)


def _kind(pid: int, name: str, link: str) -> str:
    """What a descriptor stands for; a socket by its protocol."""
    if link.startswith("socket:"):
        with suppress(OSError):
            protocol = os.getxattr(f"/proc/{pid}/fd/{name}", "system.sockprotoname")
            return f"socket:{protocol.rstrip(bytes(1)).decode()}"
    return link


def _resident(pid: int) -> int:
    with suppress(OSError, IndexError):
        return int(read(f"/proc/{pid}/statm").split()[1]) * _PAGE
    return 0


def _memory_of(pids: set[int]) -> int:
    """Bytes; what several of them share is counted once where it would matter."""
    resident = {pid: _resident(pid) for pid in pids}
    if sum(resident.values()) < _MATTERS:
        return sum(resident.values())
    return sum(_proportional(pid) for pid in pids)


def _proportional(pid: int) -> int:
    """Its memory, what it shares shared out; 0 when it has ended."""
    with suppress(OSError):
        for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) << 10
        return 0
    return _resident(pid)


def _written(pid: int) -> int:
    with suppress(OSError):
        for line in read(f"/proc/{pid}/io").splitlines():
            if line.startswith(b"write_bytes:"):
                return int(line.split()[1])
    return 0
