"""Write queue: edits of the same file wait for each other, first come, first served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

FileKey = tuple[int, int, str]


@dataclass(slots=True)
class _QueueEntry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class WriteQueue:
    """Queue shared by all workspaces of a process that may refer to the same files.

    A file is identified by its folder's device and inode and its name, so that every spelling of a
    path uses the same queue.
    """

    def __init__(self) -> None:
        self._entries: dict[FileKey, _QueueEntry] = {}

    def __len__(self) -> int:
        """Return the number of files being written or waited for."""
        return len(self._entries)

    @asynccontextmanager
    async def alone(self, key: FileKey) -> AsyncIterator[None]:
        """Lock the file; the entry disappears with its last user."""
        entry = self._entries.setdefault(key, _QueueEntry())
        entry.users += 1
        try:
            async with entry.lock:
                yield
        finally:
            entry.users -= 1
            if not entry.users:
                del self._entries[key]

    @asynccontextmanager
    async def all_alone(self, keys: Iterable[FileKey]) -> AsyncIterator[None]:
        """Lock several files, always in the same order, so that there are no deadlocks."""
        async with AsyncExitStack() as stack:
            for key in sorted(set(keys)):
                await stack.enter_async_context(self.alone(key))
            yield
