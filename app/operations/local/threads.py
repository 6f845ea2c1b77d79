"""Blocking work in a thread that is always awaited to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

# One pool for each kind of work: a queue of long searches must not hold up the kill of a
# process, nor the read of a file. All of this waits for the disk or releases the lock.
SEARCHES = ThreadPoolExecutor(2, thread_name_prefix="search")
PROCESSES = ThreadPoolExecutor(16, thread_name_prefix="process")

P = ParamSpec("P")
T = TypeVar("T")


async def to_end(awaitable: Awaitable[T], on_cancel: Callable[[], None] | None = None) -> T:
    """Await `awaitable` to its end even when the caller is cancelled, then be cancelled.

    A thread cannot be stopped: going on while it still writes would let a second
    write to the same file overtake it. `on_cancel` may tell the work to hurry.
    """
    task = asyncio.ensure_future(awaitable)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
            if on_cancel is not None:
                on_cancel()
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # read, so that it is not reported as never retrieved
        raise cancelled
    return task.result()


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`asyncio.to_thread`, but cancelling waits until the thread has finished."""
    return await to_end(asyncio.to_thread(work, *args, **kwargs))


def run_in(
    pool: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> asyncio.Future[T]:
    """Start `work` in a pool of its own kind."""
    return asyncio.get_running_loop().run_in_executor(pool, partial(work, *args, **kwargs))
