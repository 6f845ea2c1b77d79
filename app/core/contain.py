"""The one way in which code that is not ours may fail.

A tool's function, a hook, a plugin's adapter or a unit of work may raise anything:
also `SystemExit`, which would end the service, and a `CancelledError` that nobody
asked for, which would end the run.

    with Contained() as held:
        await foreign()
    if held.error is not None: ...

    value, error = attempt(foreign, argument)

On the way of every call, where entering a context would be a twentieth of the price:

    cancelling = task.cancelling()
    try:
        await foreign()
    except BaseException as error:
        if not is_theirs(error, task, cancelling):
            raise
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


def attempt(function: Callable[..., T], *args: Any) -> tuple[T | None, BaseException | None]:
    """Call something that does not await: its value, or what it raised. Costs nothing extra."""
    try:
        return function(*args), None
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001 - the border
        return None, error


def is_theirs(error: BaseException, task: asyncio.Task[Any] | None, cancelling: int) -> bool:
    """Whether foreign code failed; False for what must go on: above all a real cancellation.

    Args:
        cancelling: how often `task` was being cancelled before the foreign code ran.
    """
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() <= cancelling
    return isinstance(error, Exception | SystemExit)


class Contained:
    """Keeps what the block raised in `error`; a real cancellation passes through.

    Looking up the current task is most of its price: give it where it is known.
    """

    __slots__ = ("_cancelling", "_task", "error")

    def __init__(self, task: asyncio.Task[Any] | None = None) -> None:
        self.error: BaseException | None = None
        self._task = task
        self._cancelling = 0

    def __enter__(self) -> Contained:
        if self._task is None:
            try:
                self._task = asyncio.current_task()
            except RuntimeError:
                self._task = None
        self._cancelling = self._task.cancelling() if self._task else 0
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is None or not is_theirs(error, self._task, self._cancelling):
            return False
        self.error = error
        return True
