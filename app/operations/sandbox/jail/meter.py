"""Metering of a tree, for limits that the kernel lacks for a whole tree."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from app.operations.sandbox.jail.folder import bytes_since, count_since
from app.operations.sandbox.jail.job import Policy
from app.operations.sandbox.jail.procfs import ProcFs

_BUFFER = 208 << 10  # kernel memory of one socket, not included in any process's size
_PAGE = os.sysconf("SC_PAGE_SIZE")
_INTERVAL_S = 0.1
_CROWDED_INTERVAL_S = 0.02
_SHARE = 20  # metering takes at most a twentieth of a processor
_LONGEST_S = 0.25
# A tree near its limit is checked at least this often, because it may add about 1.5 GB per second
# and processor meanwhile. Metering may then take a quarter of a processor.
_NEAR_S = 0.05
_NEAR_SHARE = 3
_THREADS_PER_PROCESS = 16
# A loop creates a file in 15 µs. Reading a file system's count takes 2 µs.
_GLANCE_S = 0.02
_MAKING_GLANCE_S = 0.004
# A tree whose own count shows nothing is never at fault for a folder too large to count.
_COUNTING_S = 2.0
_RECOUNTING_S = 0.25


class Meter:
    """Meters the tree below this process, from before its first process starts.

    Attributes:
        peak_bytes: highest observed memory.
        interval_s: seconds until the next check.
        glance_s: seconds until files are counted again; None if none can be created.
    """

    def __init__(self, policy: Policy, proc: ProcFs) -> None:
        self.peak_bytes = 0
        self.interval_s = _INTERVAL_S
        self._used = 0
        self._lost = 0
        self._misses = False
        self._seen: dict[int, int] = {}
        self._policy = policy
        self._proc = proc
        self._written_before = self._written(proc.own)
        self._sees_all = True
        self._began_ns = time.time_ns()
        self._disks = {folder: os.statvfs(folder) for folder in policy.writable}
        self._in_memory = {
            folder for folder in policy.writable if proc.is_in_memory(Path(folder).stat().st_dev)
        }
        self._free_inodes = {folder: disk.f_ffree for folder, disk in self._disks.items()}
        self._free_before = dict(self._free_inodes)
        self._deleted = dict.fromkeys(self._disks, 0)
        self._free_blocks = {folder: disk.f_bfree for folder, disk in self._disks.items()}
        self._freed = dict.fromkeys(self._disks, 0)
        self._recount_at = 0.0
        self.glance_s = _GLANCE_S if self._disks else None

    def started(self) -> None:
        """Note whether the machine shows the tree's first process; if not, it is not at fault."""
        self._sees_all = not any(map(self._proc.is_hidden, self._proc.children(self._proc.own)))

    def excess(self, is_due: Callable[[], bool] = lambda: False) -> str | None:
        """Return the exceeded limit as the reason of the end, or None.

        Args:
            is_due: returns whether the caller must handle something else first.
        """
        began = time.thread_time()
        limit = self._policy.processes
        tree = self._tree()
        reason = self._processes(tree) or self._memory(tree, is_due) or self._disk(tree)
        near = self._used > self._policy.memory_bytes // 2
        # processor time, not wall time: a busy machine must not reduce the checks
        spent = time.thread_time() - began
        crowded = near or len(tree) > limit // 2
        self.interval_s = _rest(spent, near=near, crowded=crowded)
        return reason

    def _tree(self) -> list[tuple[int, int]]:
        """Return the tree's processes, each with its number of threads."""
        # a fork bomb is not walked completely
        return list(islice(self._proc.descendants(self._proc.own), self._policy.processes + 1))

    def written_bytes(self) -> int:
        """Return the bytes the tree wrote to disks; exact once all of it has been reaped."""
        return self._written(self._proc.own) - self._written_before

    def _memory(self, tree: list[tuple[int, int]], is_due: Callable[[], bool]) -> str | None:
        used = sum(self._resident(pid) for pid, _ in tree)
        self._used = used
        self.peak_bytes = max(self.peak_bytes, used)
        if sum(self._proc.open_files(pid) for pid, _ in tree) * _BUFFER > self._policy.memory_bytes:
            return "memory"
        if used <= self._policy.memory_bytes:
            return None
        # shared pages are counted for each process; of a hiding process all pages count
        shared_once = 0
        for pid, _ in tree:
            if is_due():  # each of these waits for a process that forks continuously
                return None
            shared_once += self._proportional(pid) or self._resident(pid)
        return "memory" if shared_once > self._policy.memory_bytes else None

    def _processes(self, tree: list[tuple[int, int]]) -> str | None:
        limit = self._policy.processes
        threads = sum(threads for _, threads in tree)
        beyond = len(tree) > limit or threads > limit * _THREADS_PER_PROCESS
        return "processes" if beyond else None

    def _disk(self, tree: list[tuple[int, int]]) -> str | None:
        written = self._written_by_all(tree)
        if written > self._policy.disk_bytes or any(self._hides(pid) for pid, _ in tree):
            return "disk"
        for folder in self._disks:
            now = os.statvfs(folder)
            self._freed[folder] += max(0, now.f_bfree - self._free_blocks[folder]) * now.f_frsize
            self._free_blocks[folder] = now.f_bfree
            before = self._disks[folder]
            if now.f_bfree > before.f_bfree:
                before = self._disks[folder] = now
            if self._holds_too_much(folder, before, now, tree):
                return "disk"
            shrinking = now.f_bavail < before.f_bavail
            if shrinking and now.f_bavail * now.f_frsize < self._policy.disk_floor_bytes:
                return "disk_full"
        return None

    def _written_by_all(self, tree: list[tuple[int, int]]) -> int:
        """Return the bytes that the tree wrote, including lost counts.

        What a process wrote is added to its reaper's count, so the sum of the processes seen before
        never falls by itself. If a parent has its children reaped automatically, their counts are
        lost. A process reaped during a reading may be missing from that one, so a loss must last.
        """
        counts = self._counts(tree)
        missing = sum(self._seen.values()) - sum(counts.get(pid, 0) for pid in self._seen)
        if missing > 0 and not self._misses:
            self._misses = True
            self._seen = counts | self._seen
        else:
            self._misses = False
            self._lost += max(0, missing)
            self._seen = counts
        return sum(counts.values()) + self._lost

    def _counts(self, tree: list[tuple[int, int]]) -> dict[int, int]:
        """Return what each process wrote, parents first.

        The kernel marks a process as dead before it adds its count to the reaper's. One that is not
        dead after its parent has been read is therefore not yet in the parent's count.
        """
        counts = {self._proc.own: self.written_bytes()}
        for pid, _ in tree:
            counts[pid] = 0 if self._proc.is_dead(pid) else self._written(pid)
        return counts

    def glance(self) -> str | None:
        """Return `files` if the tree has created too many; far cheaper than a full check."""
        limit, making = self._policy.inodes, False
        for folder in self._disks:
            free = os.statvfs(folder).f_ffree
            making = making or self._free_before[folder] - free > limit // 100
            self._deleted[folder] += max(0, free - self._free_before[folder])
            self._free_before[folder] = free
            if self._makes_too_many(folder, free) or self._hides_too_many(folder):
                return "files"
        self.glance_s = _MAKING_GLANCE_S if making else _GLANCE_S
        return None

    def _makes_too_many(self, folder: str, free: int) -> bool:
        limit = self._policy.inodes
        self._free_inodes[folder] = max(self._free_inodes[folder], free)
        if self._free_inodes[folder] - free <= limit:
            return False
        # others may have created them: this counts the whole disk
        made = count_since(folder, self._began_ns, limit, _COUNTING_S)
        if made is not None:
            self._free_inodes[folder] = free + made
        return made is None or made > limit

    def _hides_too_many(self, folder: str) -> bool:
        """Return whether the tree created too many while as many were deleted on the same disk.

        Such deletions, by the tree or by others, keep the number of free ones from falling.
        """
        limit, now = self._policy.inodes, time.monotonic()
        if self._deleted[folder] <= limit or now < self._recount_at:
            return False
        made = count_since(folder, self._began_ns, limit, _RECOUNTING_S)
        self._deleted[folder] = 0
        self._recount_at = now + _SHARE * (time.monotonic() - now)
        return made is not None and made > limit

    def _holds_too_much(
        self,
        folder: str,
        before: os.statvfs_result,
        now: os.statvfs_result,
        tree: list[tuple[int, int]],
    ) -> bool:
        """Return whether files exceed the write limit without visible writes.

        This applies to files in memory, reserved space, either in an unlinked file, and lost
        counts. The whole disk is checked first, at no cost: what others free meanwhile may hide
        what the tree holds.
        """
        limit = self._policy.disk_bytes
        if (before.f_bfree - now.f_bfree) * now.f_frsize + self._freed[folder] <= limit:
            return False
        self._freed[folder] = 0
        held: dict[tuple[int, int], int] = {}
        for pid, _ in tree:
            held |= self._proc.unlinked(pid)
        used = sum(held.values())
        if (folder in self._in_memory or self._lost) and used <= limit:
            used += bytes_since(folder, self._began_ns, limit - used)
        if used <= limit:
            # Others have written it.
            self._disks[folder] = now
        return used > limit

    def _resident(self, pid: int) -> int:
        fields = self._proc.read(f"{pid}/statm").split()
        return int(fields[1]) * _PAGE if len(fields) > 1 else 0

    def _proportional(self, pid: int) -> int:
        for line in self._proc.read(f"{pid}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) << 10
        return 0

    def _hides(self, pid: int) -> bool:
        """Return whether a process's writes cannot be counted before its end.

        This applies to processes of unreadable programs.
        """
        return self._sees_all and not self._proc.read(f"{pid}/io") and self._proc.is_hidden(pid)

    def _written(self, pid: int) -> int:
        # the count of a reaped process has been added to its reaper's
        for line in self._proc.read(f"{pid}/io").splitlines():
            if line.startswith(b"write_bytes:"):
                return int(line.split()[1])
        return 0


def _rest(spent_s: float, *, near: bool, crowded: bool) -> float:
    """Return the seconds to wait after a check that took `spent_s` of processor time."""
    shortest = _CROWDED_INTERVAL_S if crowded else _INTERVAL_S
    longest = max(_NEAR_S, _NEAR_SHARE * spent_s) if near else _LONGEST_S
    return min(max(shortest, _SHARE * spent_s), longest, _LONGEST_S)
