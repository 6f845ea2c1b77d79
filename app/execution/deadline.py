"""Deadlines of tasks: `asyncio.timeout` at a tenth of its price.

The rules are the same: the task is cancelled when time is up, and that cancellation, and
no other, becomes an answer instead of a `CancelledError`. Those of equal length come to
their end in the order they began, so each length needs one timer, for the first of them:
beginning and stopping one is an entry in a dictionary (0.4 µs against 1.5 for a timer of
its own and 4 for the context manager).
"""

from __future__ import annotations

import asyncio

# A timer may ring so much before its moment, by the loop's own reckoning.
_EARLY_S = 0.001


class Deadline:
    """Cancels its task when the time is up, unless it is stopped first."""

    __slots__ = ("_cancelling", "_others", "_task", "expired")

    def __init__(self, task: asyncio.Task[object], others: dict[Deadline, float]) -> None:
        self._task = task
        self._others = others
        self._cancelling = task.cancelling()
        self.expired = False

    def stop(self) -> None:
        """Call it in any case once the work has ended."""
        self._others.pop(self, None)

    def absorb(self) -> bool:
        """Whether a caught `CancelledError` was this deadline's doing, and only its doing."""
        return self.expired and self._task.uncancel() <= self._cancelling

    def ended(self) -> None:
        """The work ended by itself: take the own cancellation back, raise one that it swallowed.

        Raises:
            CancelledError: somebody else has cancelled the task meanwhile.
        """
        if self.expired:
            self.expired = False
            self._task.uncancel()
        if self._task.cancelling() > self._cancelling:
            raise asyncio.CancelledError

    def expire(self) -> None:
        """The time is up."""
        self.expired = True
        self._task.cancel()


class Deadlines:
    """The deadlines of what runs in one event loop."""

    def __init__(self) -> None:
        self._lines: dict[float, _DeadlineQueue] = {}

    @property
    def lengths(self) -> tuple[float, ...]:
        """In seconds, of those that are watched."""
        return tuple(self._lines)

    def begin(self, task: asyncio.Task[object], seconds: float) -> Deadline:
        """A deadline for `task` in `seconds` from now."""
        line = self._lines.get(seconds)
        if line is None:
            line = self._lines[seconds] = _DeadlineQueue(self._lines, seconds)
        deadline = Deadline(task, line.waiting)
        line.waiting[deadline] = line.time() + seconds
        return deadline


class _DeadlineQueue:
    """Deadlines of one length with the moment of each, the first to come first."""

    __slots__ = ("_lines", "_loop", "_seconds", "time", "waiting")

    def __init__(self, lines: dict[float, _DeadlineQueue], seconds: float) -> None:
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self.time = self._loop.time
        self.waiting: dict[Deadline, float] = {}
        self._loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        """End those whose time is up, and wait for the next; without one the line is gone."""
        now = self.time() + _EARLY_S
        due: list[Deadline] = []
        for deadline, moment in self.waiting.items():
            if moment > now:
                self._loop.call_at(moment, self._ring)
                break
            due.append(deadline)
        else:
            del self._lines[self._seconds]
        for deadline in due:
            del self.waiting[deadline]
            deadline.expire()
