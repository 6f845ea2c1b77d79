"""Writing and editing of one file, based on the operation that changes several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from app.core.errors import ToolFailed
from app.operations.protocols.files import (
    BeforeWrite,
    Change,
    Edited,
    FileState,
    FileStates,
    nothing,
)


class OverApply(ABC):
    """`write` and `edit` for every `FileOperations` with `apply`."""

    @abstractmethod
    async def apply(
        self,
        paths: Sequence[str],
        change: Change,
        *,
        fresh: bool = False,
        durable: bool = False,
        before_write: BeforeWrite = nothing,
    ) -> list[Edited]:
        """See the Protocol."""

    async def write(
        self, path: str, data: bytes, *, append: bool = False, fresh: bool = False
    ) -> Edited:
        """See the Protocol."""

        def change(found: FileStates) -> FileStates:
            there = found[path]
            before = there.data if append and there is not None else b""
            return {path: FileState(before + data, None if there is None else there.mode)}

        return await self._one(path, change, fresh=fresh)

    async def edit(
        self, path: str, change: Callable[[bytes], bytes], *, fresh: bool = False
    ) -> Edited:
        """Edit a file, see the Protocol; a missing file raises ToolFailed `file_not_found`."""

        def change_existing(found: FileStates) -> FileStates:
            there = found[path]
            if there is None:
                raise ToolFailed(f"File not found: {path!r}", code="file_not_found", path=path)
            return {path: FileState(change(there.data), there.mode)}

        return await self._one(path, change_existing, fresh=fresh)

    async def _one(self, path: str, change: Change, *, fresh: bool) -> Edited:
        return (await self.apply([path], change, fresh=fresh))[0]
