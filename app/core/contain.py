"""The one way in which code that is not ours may fail.

A tool's function, a hook, a plugin's adapter or a unit of work may raise anything:
also `SystemExit`, which would end the service, and a `CancelledError` that nobody
asked for, which would end the run.

    with Contained() as held:
        await foreign()
    if held.error is not None: ...
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any


class Contained:
    """Keeps what the block raised in `error`; a real cancellation passes through."""

    __slots__ = ("_cancelling", "_task", "error")

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0

    def __enter__(self) -> Contained:
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
        if error is None or not self._is_theirs(error):
            return False
        self.error = error
        return True

    def _is_theirs(self, error: BaseException) -> bool:
        if isinstance(error, asyncio.CancelledError):
            return self._task is not None and self._task.cancelling() <= self._cancelling
        return isinstance(error, Exception | SystemExit)
