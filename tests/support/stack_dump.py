"""`tollgate` as a process that reports its waits: `kill -USR1` prints them on standard error.

For tests in which a service may hang: prints the state of its threads, and where each task of its
loop waits.
"""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import sys
from collections.abc import Coroutine
from typing import Any

from app.cli.main import main

DUMPED = "Everything is written."


def tell(*_: object) -> None:
    """Print between two steps of the loop's thread, which is woken up for it."""
    faulthandler.dump_traceback(all_threads=True)
    for task in asyncio.all_tasks(asyncio.get_running_loop()):
        coroutine = task.get_coro()
        places = places_of(coroutine) if isinstance(coroutine, Coroutine) else []
        print(task.get_name(), *places, sep="\n  ", file=sys.stderr)
    print(DUMPED, file=sys.stderr, flush=True)


def places_of(waiting: Any) -> list[str]:
    """Return where a coroutine waits, and for what, outermost first."""
    found = []
    while waiting is not None:
        frame = next(
            (
                frame
                for name in ("cr_frame", "gi_frame", "ag_frame")
                if (frame := getattr(waiting, name, None)) is not None
            ),
            None,
        )
        if frame is None:
            found.append(repr(waiting))
            return found
        found.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
        waiting = next(
            (
                below
                for name in ("cr_await", "gi_yieldfrom", "ag_await")
                if (below := getattr(waiting, name, None)) is not None
            ),
            None,
        )
    return found


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, tell)
    main()
