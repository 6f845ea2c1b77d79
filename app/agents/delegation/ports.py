"""Protocol for starting worker processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from app.agents.delegation.frames import FromWorker, ToWorker


@dataclass(frozen=True, slots=True)
class WorkerScope:
    """Folders that a worker may read; workers of the same place are interchangeable.

    Attributes:
        root: folder of the workspace; None for a worker without files.
        roots: readable folders, relative to `root`; empty for all.
    """

    root: str | None = None
    roots: tuple[str, ...] = ()


class WorkerProcess(Protocol):
    """One sandboxed process, for one task."""

    @property
    def pid(self) -> int: ...

    @property
    def tools(self) -> frozenset[str]:
        """Return the tools that it can run itself."""

    async def send(self, frame: ToWorker) -> None:
        """Send a frame.

        Raises:
            ToolFailed: code `worker_lost` if it has ended or no longer reads.
            WorkerProtocolError: the frame is too long.
        """

    def frames(self) -> AsyncIterator[FromWorker]:
        """Yield its frames until it ends.

        Raises:
            WorkerProtocolError: it sent an invalid or too long frame.
        """

    async def ended(self) -> str:
        """Wait for its end, and return the reason as text."""


class Workers(Protocol):
    """Starts workers and keeps some warm, within the configured maximum."""

    def take(self, place: WorkerScope) -> AbstractAsyncContextManager[WorkerProcess]:
        """Provide a worker for one task, which is ended with the context.

        Waits while the maximum number runs.

        Raises (on entering): ToolFailed code `sandbox_unavailable` or `worker_lost`.
        """

    async def close(self) -> None:
        """End all workers, including warm ones."""
