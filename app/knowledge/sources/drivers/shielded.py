"""Work that must finish even if its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

_under_way: set[asyncio.Task[None]] = set()


async def surely(work: Coroutine[Any, Any, None]) -> None:
    """Wait for `work`; cancellation ends the wait and not the work."""
    await asyncio.shield(begun(work))


def begun(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start work that continues independently of its waiters."""
    task = asyncio.create_task(work)
    # The loop only has weak references to tasks.
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return task
