"""Time limit and interruption of foreign code that runs while a program starts.

Only the main thread receives signals; in other threads, a block runs without these guards.
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
"""Interval of further alarms, in case the code catches the first one."""


class TookTooLong(BaseException):
    """The block exceeded its time limit. `except Exception` in its code does not catch it."""


class Interrupt:
    """Record of a real Ctrl-C, as opposed to a `KeyboardInterrupt` raised by code.

    Attributes:
        is_real: the signal was received.
    """

    def __init__(self) -> None:
        self.is_real = False


@contextmanager
def watched_for_interrupt() -> Iterator[Interrupt]:
    """Distinguish a real Ctrl-C in the block from a `KeyboardInterrupt` raised by code."""
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
    """Raise `TookTooLong` inside the block after this time, even while it waits."""
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
