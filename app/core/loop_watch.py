"""Watchdog of the event loop: detects and interrupts code that blocks it.

A thread checks every second that the loop responds. If it does not, the running code is reported
with the name of its `foreign` block, and with file and line. If the loop runs in the main thread,
code in such a block is interrupted after `STOP_S` seconds by a signal, which also works in
`time.sleep` or while it waits for a socket. The service's own code is never interrupted. Tasks that
foreign code starts cannot end the service with `SystemExit`.
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
# Not used otherwise, and ignored by default.
_SIGNAL = signal.SIGURG

_running: ContextVar[str | None] = ContextVar("foreign_code", default=None)


class BlockedTheLoop(BaseException):
    """Raised in code that blocked the loop too long; `except Exception` does not catch it."""


@dataclass(slots=True)
class Blockage:
    """A blockage of the event loop.

    Attributes:
        name: name of the foreign code, such as `tool word_count`; None for other or unknown code.
        at: file and line of the blocking code.
        seconds: duration, as far as it is known.
        is_over: the loop runs again.
        was_stopped: the code was interrupted.
    """

    name: str | None
    at: str
    seconds: float
    is_over: bool = False
    was_stopped: bool = False


@contextmanager
def foreign(name: str) -> Iterator[None]:
    """Mark code in the block, and in tasks it starts, as interruptible foreign code `name`."""
    token = _running.set(name)
    try:
        yield
    finally:
        _running.reset(token)


@asynccontextmanager
async def watched_loop(metrics: Metrics) -> AsyncIterator[LoopWatch]:
    """Watch the running loop, and count blockages by foreign code in `metrics`."""

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
    """Watchdog of the event loop that creates it.

    Attributes:
        blockages: the latest blockages, newest last.
        on_blockage: called on the loop after each blockage.
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
        """Stop watching; the thread then ends by itself."""
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
        """Identify the blocking code, in the loop's own thread if that is the main thread."""
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
    """Create a task; a task of foreign code cannot end the loop."""
    name = _running.get()
    return asyncio.Task(work if name is None else _staying(work, name), loop=loop, **options)


async def _staying(work: Coroutine[Any, Any, Any], name: str) -> Any:
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        # In a task, either error would end the service.
        raise ToolFailed(f"{name} tried to exit ({type(error).__name__}) in a task") from error


_LIBRARY = f"{sysconfig.get_path('stdlib')}/"


def _place(frame: FrameType | None) -> str:
    """Return the innermost file and line outside of Python's standard library."""
    innermost = frame
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_LIBRARY) or "site-packages" in name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    if innermost is None:
        return ""
    return f"{innermost.f_code.co_filename}:{innermost.f_lineno}"
