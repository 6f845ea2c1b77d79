"""What delegation needs of whoever starts worker processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from app.agents.delegation.frames import FromWorker, ToWorker


@dataclass(frozen=True, slots=True)
class WorkerScope:
    """Where a worker may read: workers of one place are alike, and so can wait warm.

    Attributes:
        root: the workspace's folder; None for a worker that sees no files.
        roots: the folders beneath it that may be read, relative to it; empty for all of it.
    """

    root: str | None = None
    roots: tuple[str, ...] = ()


class WorkerProcess(Protocol):
    """One confined process, for one task."""

    @property
    def pid(self) -> int: ...

    @property
    def tools(self) -> frozenset[str]:
        """The tools that it can execute itself."""

    async def send(self, frame: ToWorker) -> None:
        """Give it a frame.

        Raises:
            ToolFailed: code `worker_lost` when it has ended, or takes nothing any more.
            WorkerProtocolError: the frame is too long.
        """

    def frames(self) -> AsyncIterator[FromWorker]:
        """What it says, until it ends.

        Raises:
            WorkerProtocolError: it sent what is no frame, or too long a one.
        """

    async def ended(self) -> str:
        """How it ended, for people; returns when it has."""


class Workers(Protocol):
    """Starts workers and keeps some warm. Never more at once than the settings allow."""

    def take(self, place: WorkerScope) -> AbstractAsyncContextManager[WorkerProcess]:
        """A worker of one's own, which is ended and forgotten at the end of the context.

        Waits while as many as may run do.

        Raises (on entering): ToolFailed code `sandbox_unavailable` or `worker_lost`.
        """

    async def close(self) -> None:
        """End all of them, the warm ones too."""
