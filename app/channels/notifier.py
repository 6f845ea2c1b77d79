"""Notifications of desktop tasks within this process, for waiting calls and idle operators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.channels.operator_messages import OperatorProgress
from app.channels.task_rows import FINISHED, DesktopTask

MAX_REPORTS = 50


class TaskSubscription:
    """Call that waits for its task."""

    def __init__(self) -> None:
        self._news: asyncio.Queue[DesktopTask | OperatorProgress] = asyncio.Queue()

    async def next(self) -> DesktopTask | OperatorProgress:
        """Return a report, or the finished task."""
        return await self._news.get()

    def tell(self, news: DesktopTask | OperatorProgress) -> None:
        """Pass on news; unread reports are dropped, the end never is."""
        if isinstance(news, DesktopTask) or self._news.qsize() < MAX_REPORTS:
            self._news.put_nowait(news)


class TaskNotifier:
    """Notifies waiters in this process of events of their tasks."""

    def __init__(self) -> None:
        self._waiters: dict[str, TaskSubscription] = {}
        self._idle: set[Callable[[], None]] = set()

    @property
    def awaited(self) -> tuple[str, ...]:
        """Return the tasks that calls of this process wait for."""
        return tuple(self._waiters)

    @contextmanager
    def waiting(self, task_id: str) -> Iterator[TaskSubscription]:
        """Wait for a task; start before it is stored, so that no event is missed."""
        waiter = self._waiters[task_id] = TaskSubscription()
        try:
            yield waiter
        finally:
            del self._waiters[task_id]

    @contextmanager
    def listening(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` whenever there may be tasks to claim."""
        self._idle.add(wake)
        try:
            yield
        finally:
            self._idle.discard(wake)

    def changed(self, task: DesktopTask) -> None:
        """Notify waiters of a changed task."""
        if task.status == "queued":
            self.wake()
        waiter = self._waiters.get(task.id)
        if waiter is not None and task.status in FINISHED:
            waiter.tell(task)

    def reported(self, task_id: str, progress: OperatorProgress) -> None:
        """Notify waiters of an operator's progress."""
        waiter = self._waiters.get(task_id)
        if waiter is not None:
            waiter.tell(progress)

    def wake(self) -> None:
        """Notify operators that there may be tasks to claim."""
        for wake in tuple(self._idle):
            wake()
