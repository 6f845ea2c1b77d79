"""Empty rooms: a folder that is gone afterwards, and confined programs without network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from app.operations.protocols.operations import Operations
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace


class ScratchSandbox:
    """Rooms in one sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def open(self) -> AbstractAsyncContextManager[Operations]:
        """A room of one's own."""
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Operations]:
        async with (
            self._sandbox.folder() as folder,
            SandboxedWorkspace(Path(folder), sandbox=self._sandbox) as workspace,
        ):
            yield workspace.operations
