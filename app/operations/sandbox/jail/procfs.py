"""Processes and their resource usage, read from /proc."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

_BLOCK = 512


class ProcFs:
    """View of /proc, unaffected by later mounts.

    Attributes:
        descriptor: open folder.
        own: this process's number in that view, which another namespace may not share.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            descriptor = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self.descriptor = descriptor
        self.own = int(os.readlink("self", dir_fd=self.descriptor))

    def read(self, path: str) -> bytes:
        """Return a small file; empty if its process is gone or inaccessible."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.descriptor)
        except OSError:
            return b""
        try:
            return os.read(descriptor, 1 << 16)
        except OSError:
            return b""
        finally:
            os.close(descriptor)

    def sought_elsewhere(self) -> bool:
        """Return whether a program has tried to reach an address beyond this process's private
        network.

        The kernel counts packets without a route, and datagrams to a missing name server.
        """
        counts = _counts(self.read(f"{self.own}/net/snmp"))
        counts |= dict(
            line.split()[:2] for line in self.read(f"{self.own}/net/snmp6").decode().splitlines()
        )
        wanted = ("Ip.OutNoRoutes", "Udp.NoPorts", "Ip6OutNoRoutes", "Udp6NoPorts")
        return any(counts.get(name, "0") != "0" for name in wanted)

    def write(self, path: str, text: str) -> None:
        """Set one of this process's own attributes.

        Raises:
            OSError: as the kernel answers.
        """
        descriptor = os.open(f"self/{path}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self.descriptor)
        try:
            os.write(descriptor, text.encode("ascii"))
        finally:
            os.close(descriptor)

    def descendants(self, pid: int) -> Iterator[tuple[int, int]]:
        """Yield every descendant of `pid`, including zombies, with its number of threads."""
        waiting = self.children(pid, self._threads(pid))
        while waiting:
            here = waiting.pop()
            threads = self._threads(here)
            yield here, len(threads)
            waiting += self.children(here, threads)

    def children(self, pid: int, threads: list[str] | None = None) -> list[int]:
        """Return the children of `pid`, which belong to the thread that forked them."""
        texts = (self.read(f"{pid}/task/{one}/children") for one in threads or [str(pid)])
        return [int(child) for text in texts for child in text.split()]

    def open_files(self, pid: int) -> int:
        """Return the number of open descriptors of `pid`; 0 before Linux 6.2, which does not
        count them.
        """
        try:
            return os.stat(f"{pid}/fd", dir_fd=self.descriptor).st_size
        except OSError:
            return 0

    def unlinked(self, pid: int) -> dict[tuple[int, int], int]:
        """Return the unlinked files that `pid` has open, by device and inode, with their bytes.

        If its first thread has ended, another one shows them.
        """
        found: dict[tuple[int, int], int] = {}
        for thread in (str(pid), *self._threads(pid)):
            path = f"{pid}/task/{thread}/fd"
            descriptors = self._list(path)
            for name in descriptors:
                with suppress(OSError):
                    status = os.stat(f"{path}/{name}", dir_fd=self.descriptor)
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
            if descriptors:
                break
        return found

    def is_in_memory(self, device: int) -> bool:
        """Return whether a file system is in memory, where no write is counted."""
        wanted = f"{os.major(device)}:{os.minor(device)}".encode()
        for line in self.read("self/mountinfo").splitlines():
            fields, _, kind = line.partition(b" - ")
            if fields.split(b" ")[2:3] == [wanted]:
                return kind.startswith((b"tmpfs ", b"ramfs "))
        return False

    def is_hidden(self, pid: int) -> bool:
        """Return whether `pid` runs and cannot be inspected."""
        try:
            descriptor = os.open(f"{pid}/io", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.descriptor)
            try:
                os.read(descriptor, 1)
            finally:
                os.close(descriptor)
        except PermissionError:
            # Nor can one that is ending, which no longer has memory.
            return self.read(f"{pid}/statm").partition(b" ")[0] not in (b"", b"0")
        except OSError:
            return False
        return False

    def is_zombie(self, pid: int) -> bool:
        """Return whether `pid` has ended and only waits to be reaped; True if it is gone."""
        return self._state(pid) in b"ZX"

    def is_dead(self, pid: int) -> bool:
        """Return whether `pid` is being reaped; True if it is gone."""
        return self._state(pid) in b"X"

    def _state(self, pid: int) -> bytes:
        """Return the letter of a process's state; empty if it is gone."""
        text = self.read(f"{pid}/stat")
        return text[text.rindex(b")") + 2 :][:1] if text else b""

    def _threads(self, pid: int) -> list[str]:
        return self._list(f"{pid}/task")

    def _list(self, path: str) -> list[str]:
        """Return the names in a folder; empty if its process is gone or inaccessible."""
        try:
            folder = os.open(
                path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.descriptor
            )
        except OSError:
            return []
        try:
            return os.listdir(folder)  # noqa: PTH208 - a descriptor, not a path
        except OSError:
            return []
        finally:
            os.close(folder)


def _counts(table: bytes) -> dict[str, str]:
    """Parse `/proc/net/snmp`: a line of names and one of numbers for each protocol."""
    found: dict[str, str] = {}
    lines = [line.split() for line in table.decode().splitlines()]
    for names, numbers in zip(lines[::2], lines[1::2], strict=False):
        kind = names[0].removesuffix(":")
        found |= {f"{kind}.{name}": one for name, one in zip(names[1:], numbers[1:], strict=False)}
    return found
