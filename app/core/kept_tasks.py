"""Tasks that run to their end, even if nobody waits for them any more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class KeptTasks:
    """Running tasks. Their errors reach whoever still waits, and are otherwise dropped."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def keep(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start `work`; cancelling its waiter does not cancel it."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # Marked as seen; the waiter receives it, if there still is one.
