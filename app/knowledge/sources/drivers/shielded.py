"""Work that must come to its end although whoever asked for it is being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

_under_way: set[asyncio.Task[None]] = set()


async def surely(work: Coroutine[Any, Any, None]) -> None:
    """Wait for `work`; being cancelled meanwhile ends the waiting and not the work."""
    await asyncio.shield(begun(work))


def begun(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Work that goes on whoever waits for it."""
    task = asyncio.create_task(work)
    # The loop itself holds tasks weakly.
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return task
