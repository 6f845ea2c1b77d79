"""Watchdog of the event loop: detects and interrupts code that blocks it.

A thread asks the loop for a sign of life each second. Without one, whoever runs on it is named, by
the block of `foreign` that it runs in and by file and line. When the loop's thread is the main one,
code in such a block is interrupted after a while: a signal reaches it also in `time.sleep` or while
it waits for a socket. Our own code is never interrupted. A task that such code begins cannot end
the service by `SystemExit` either.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import sysconfig
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

from app.core.errors import ToolFailed
from app.core.metrics import Metrics

log = logging.getLogger(__name__)

NOTICE_S = 1.0
STOP_S = 10.0
_KEPT = 20
# Nobody else sends it, and who is not reported of it ignores it.
_SIGNAL = signal.SIGURG

_running: ContextVar[str | None] = ContextVar("foreign_code", default=None)


class BlockedTheLoop(BaseException):
    """Raised inside code that held the loop for too long; no `except Exception` keeps it."""


@dataclass(slots=True)
class Blockage:
    """One time that the loop stood still.

    Attributes:
        name: what ran, such as `tool word_count`; None when it was no code of others.
        at: file and line where it stood.
        seconds: how long, as far as it is known.
        is_over: the loop runs again.
        was_stopped: it was interrupted.
    """

    name: str | None
    at: str
    seconds: float
    is_over: bool = False
    was_stopped: bool = False


@contextmanager
def foreign(name: str) -> Iterator[None]:
    """Inside, and in tasks begun inside, what blocks the loop is `name`, and may be stopped."""
    token = _running.set(name)
    try:
        yield
    finally:
        _running.reset(token)


@asynccontextmanager
async def watched_loop(metrics: Metrics) -> AsyncIterator[LoopWatch]:
    """Watch the loop that runs here; each time that code of others held it is counted."""

    def count(blockage: Blockage) -> None:
        if blockage.name is not None:
            metrics.count("loop_blocked", blockage.name)

    watch = LoopWatch(count)
    watch.start()
    try:
        yield watch
    finally:
        watch.close()


class LoopWatch:
    """Watches the loop that it is started on.

    Attributes:
        blockages: the last times that it stood still, the newest last.
        on_blockage: called on the loop after each.
    """

    def __init__(
        self,
        on_blockage: Callable[[Blockage], None] = lambda _: None,
        *,
        notice_s: float = NOTICE_S,
        stop_s: float = STOP_S,
    ) -> None:
        self.blockages: deque[Blockage] = deque(maxlen=_KEPT)
        self.on_blockage = on_blockage
        self._notice_s = notice_s
        self._stop_s = stop_s
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._is_main = threading.current_thread() is threading.main_thread()
        self._alive = threading.Event()
        self._over = threading.Event()
        self._asked_at = 0.0
        self._current: Blockage | None = None
        self._thread = threading.Thread(target=self._watch, name="loop-watch", daemon=True)
        self._former: Any = None

    def start(self) -> None:
        self._loop.set_task_factory(_task_of)  # type: ignore[arg-type]
        if self._is_main:
            self._former = signal.signal(_SIGNAL, self._on_signal)
        self._thread.start()

    def close(self) -> None:
        """End the watch; the thread ends by itself."""
        self._over.set()
        self._alive.set()
        self._loop.set_task_factory(None)
        if self._is_main and signal.getsignal(_SIGNAL) == self._on_signal:
            signal.signal(_SIGNAL, self._former or signal.SIG_DFL)

    def _watch(self) -> None:
        while not self._over.wait(self._notice_s):
            self._alive.clear()
            self._asked_at = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(self._alive.set)
            except RuntimeError:
                return  # the loop is closed
            while not self._alive.wait(self._notice_s):
                self._look()
            if self._current is not None:
                self._ended(self._current)

    def _look(self) -> None:
        """Find out who holds the loop; in the loop's own thread where that can be asked."""
        if self._is_main:
            signal.pthread_kill(self._thread_id, _SIGNAL)
        elif self._current is None:
            self._note(None, sys._current_frames().get(self._thread_id))
        if self._current is not None:
            self._current.seconds = time.monotonic() - self._asked_at

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        if self._alive.is_set() or self._over.is_set():
            return
        name = _running.get()
        if self._current is None:
            self._note(name, frame)
        elif name is not None and time.monotonic() - self._asked_at >= self._stop_s:
            self._current.was_stopped = True
            raise BlockedTheLoop(
                f"{name} blocked the whole service for {self._stop_s:g} s and was "
                "stopped: use await, or do the work in a thread (asyncio.to_thread)"
            )

    def _note(self, name: str | None, frame: FrameType | None) -> None:
        seconds = time.monotonic() - self._asked_at
        found = self._current = Blockage(name, _place(frame), seconds)
        self.blockages.append(found)
        level = logging.INFO if name is None else logging.ERROR
        log.log(level, "%s blocks the event loop at %s", name or "the service", found.at)

    def _ended(self, blockage: Blockage) -> None:
        blockage.seconds = time.monotonic() - self._asked_at
        blockage.is_over = True
        self._current = None
        try:
            self._loop.call_soon_threadsafe(self.on_blockage, blockage)
        except RuntimeError:
            return


def _task_of(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    """A task; one that code of others begins cannot end the loop."""
    name = _running.get()
    return asyncio.Task(work if name is None else _staying(work, name), loop=loop, **options)


async def _staying(work: Coroutine[Any, Any, Any], name: str) -> Any:
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        # In a task either would end the whole service.
        raise ToolFailed(f"{name} tried to exit ({type(error).__name__}) in a task") from error


_LIBRARY = f"{sysconfig.get_path('stdlib')}/"


def _place(frame: FrameType | None) -> str:
    """The innermost file and line that is not Python's own library."""
    innermost = frame
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_LIBRARY) or "site-packages" in name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    if innermost is None:
        return ""
    return f"{innermost.f_code.co_filename}:{innermost.f_lineno}"
