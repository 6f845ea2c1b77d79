"""The one way in which code that is not ours may fail.

A tool's function, a hook, a plugin's adapter or a unit of work may raise anything:
also `SystemExit` and `KeyboardInterrupt`, which would end the service, a `CancelledError`
that nobody asked for, which would end the run, and a `GeneratorExit` of its own.

    with Contained() as held:
        await foreign()
    if held.error is not None: ...

    value, error = attempt(foreign, argument)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


def try_call(function: Callable[..., T], *args: Any) -> tuple[T | None, BaseException | None]:
    """Call something that does not await: its value, or what it raised. Costs nothing extra."""
    try:
        return function(*args), None
    except BaseException as error:  # noqa: BLE001 - the border
        return None, error


class ErrorBoundary:
    """Keeps what the block raised in `error`; a real cancellation passes through.

    Looking up the current task is most of its price: give it where it is known.
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
            # In a task it is no key press: the loop's runner cancels at the first one.
            return self._task is not None
        if isinstance(error, GeneratorExit):
            # Whoever closes this coroutine does so from outside of its task.
            return self._task is not None and _current() is self._task
        return True


def _current() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
