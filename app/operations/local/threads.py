"""Blocking work in threads that are always awaited to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

# One pool for each kind of work: a queue of long searches must not delay the kill of a process, or
# the read of a file. All of this work waits for the disk or releases the lock.
SEARCHES = ThreadPoolExecutor(2, thread_name_prefix="search")
PROCESSES = ThreadPoolExecutor(16, thread_name_prefix="process")

P = ParamSpec("P")
T = TypeVar("T")


async def to_end(awaitable: Awaitable[T], on_cancel: Callable[[], None] | None = None) -> T:
    """Await `awaitable` to its end even if the caller is cancelled, then raise the cancellation.

    A thread cannot be stopped: continuing while it still writes would let a second write to the
    same file overtake it. `on_cancel` may ask the work to finish early.
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
    """Run like `asyncio.to_thread`, but cancellation waits until the thread has finished."""
    # A future, where `asyncio.to_thread` would need a task.
    work = partial(copy_context().run, work, *args, **kwargs)
    return await to_end(asyncio.get_running_loop().run_in_executor(None, work))


def run_in(
    pool: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> asyncio.Future[T]:
    """Start `work` in the pool of its kind."""
    return asyncio.get_running_loop().run_in_executor(pool, partial(work, *args, **kwargs))
