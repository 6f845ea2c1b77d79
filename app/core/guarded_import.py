"""Code of others that runs while a program starts: bounded in time, and still interruptible.

Only the main thread gets signals; anywhere else the block runs as it is.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_AGAIN_S = 1.0
"""Who catches the first alarm gets another."""


class TookTooLong(BaseException):
    """The block did not end within its limit. No `except Exception` of its code keeps it."""


class Interrupt:
    """Records a real Ctrl-C; ignores `KeyboardInterrupt` raised by code.

    Attributes:
        is_real: a signal has come.
    """

    def __init__(self) -> None:
        self.is_real = False


@contextmanager
def watched_for_interrupt() -> Iterator[Interrupt]:
    """Tell a signal from an exception of that name."""
    seen = Interrupt()
    former = signal.getsignal(signal.SIGINT)
    if not _is_main() or not callable(former):
        yield seen
        return

    def note(number: int, frame: FrameType | None) -> Any:
        seen.is_real = True
        return former(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, former)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` inside the block when it has run that long, however it waits."""
    if not _is_main():
        yield
        return
    started = time.monotonic()
    is_over = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not is_over:
            raise TookTooLong(f"it did not finish within {seconds:g} s")

    former = signal.signal(signal.SIGALRM, stop)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if former is None else former)
        if left:
            remaining = max(left - (time.monotonic() - started), 0.001)
            signal.setitimer(signal.ITIMER_REAL, remaining, again)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
