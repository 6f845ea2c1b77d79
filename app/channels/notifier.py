"""Who in this process wants to hear of desktop tasks: calls that wait, operators that are idle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.channels.operator_messages import Progress
from app.channels.task_rows import FINISHED, DesktopTask

MAX_REPORTS = 50


class TaskSubscription:
    """One call that waits for its task."""

    def __init__(self) -> None:
        self._news: asyncio.Queue[DesktopTask | Progress] = asyncio.Queue()

    async def next(self) -> DesktopTask | Progress:
        """A report, or the task when it is finished."""
        return await self._news.get()

    def tell(self, news: DesktopTask | Progress) -> None:
        """Reports that nobody reads in time are dropped; the end never is."""
        if isinstance(news, DesktopTask) or self._news.qsize() < MAX_REPORTS:
            self._news.put_nowait(news)


class TaskNotifier:
    """Brings what happened to a task to whoever waits for it here."""

    def __init__(self) -> None:
        self._waiters: dict[str, TaskSubscription] = {}
        self._idle: set[Callable[[], None]] = set()

    @property
    def awaited(self) -> tuple[str, ...]:
        """The tasks that calls of this process wait for."""
        return tuple(self._waiters)

    @contextmanager
    def waiting(self, task_id: str) -> Iterator[TaskSubscription]:
        """Wait for a task; begin before it is stored, so that nothing is missed."""
        waiter = self._waiters[task_id] = TaskSubscription()
        try:
            yield waiter
        finally:
            del self._waiters[task_id]

    @contextmanager
    def listening(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` whenever there may be something to claim."""
        self._idle.add(wake)
        try:
            yield
        finally:
            self._idle.discard(wake)

    def changed(self, task: DesktopTask) -> None:
        """A task is not what it was."""
        if task.status == "queued":
            self.wake()
        waiter = self._waiters.get(task.id)
        if waiter is not None and task.status in FINISHED:
            waiter.tell(task)

    def reported(self, task_id: str, progress: Progress) -> None:
        """An operator says how far it is."""
        waiter = self._waiters.get(task_id)
        if waiter is not None:
            waiter.tell(progress)

    def wake(self) -> None:
        """There may be something to claim."""
        for wake in tuple(self._idle):
            wake()
