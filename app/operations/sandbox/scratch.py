"""Temporary workspaces: a folder deleted afterwards, and sandboxed programs without network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from app.operations.protocols.operations import Operations
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace


class ScratchSandbox:
    """Temporary workspaces in one sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def open(self) -> AbstractAsyncContextManager[Operations]:
        """Create a temporary workspace."""
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Operations]:
        async with (
            self._sandbox.folder() as folder,
            SandboxedWorkspace(Path(folder), sandbox=self._sandbox) as workspace,
        ):
            yield workspace.operations
