"""Error boundary for code outside of the service.

A tool's function, a hook, a plugin's adapter or a unit of work can raise anything: `SystemExit`
and `KeyboardInterrupt`, which would end the service, a `CancelledError` without a cancellation,
which would end the run, and its own `GeneratorExit`.

    with ErrorBoundary() as held:
        await foreign()
    if held.error is not None: ...

    value, error = try_call(foreign, argument)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


def try_call(function: Callable[..., T], *args: Any) -> tuple[T | None, BaseException | None]:
    """Call a synchronous function; return its value and the error that it raised, if any."""
    try:
        return function(*args), None
    except BaseException as error:  # noqa: BLE001 - the boundary
        return None, error


class ErrorBoundary:
    """Context manager that stores the block's error in `error`; real cancellations propagate.

    Looking up the current task takes most of its time: pass it if it is known.
    """

    __slots__ = ("_cancelling", "_task", "error")

    def __init__(self, task: asyncio.Task[Any] | None = None) -> None:
        self.error: BaseException | None = None
        self._task = task
        self._cancelling = 0

    def __enter__(self) -> ErrorBoundary:
        if self._task is None:
            self._task = _current()
        self._cancelling = self._task.cancelling() if self._task else 0
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is None or not self._is_theirs(error):
            return False
        self.error = error
        return True

    def _is_theirs(self, error: BaseException) -> bool:
        if isinstance(error, asyncio.CancelledError):
            return self._task is not None and self._task.cancelling() <= self._cancelling
        if isinstance(error, KeyboardInterrupt):
            # In a task it is not from a key press: the loop's runner cancels the task instead.
            return self._task is not None
        if isinstance(error, GeneratorExit):
            # A real close of this coroutine comes from outside of its task.
            return self._task is not None and _current() is self._task
        return True


def _current() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
