"""Background tasks for the duration of a block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def background(*work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Run `work` as tasks until the block ends; then cancel them and wait for their end.

    Errors of the tasks are discarded: `work` must report its own errors.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
