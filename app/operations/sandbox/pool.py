"""Pool of ready workers; each is used once and replaced."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from app.core.errors import TollgateError
from app.operations.sandbox.workers import Worker

_log = logging.getLogger(__name__)


class WarmPool:
    """Pool of up to `size` workers from `park`.

    Filled by `fill` or after the first `take`. A worker that died while waiting is discarded when
    found.
    """

    def __init__(self, size: int, park: Callable[[], Awaitable[Worker]]) -> None:
        self._size = size
        self._park = park
        self._ready: deque[Worker] = deque()
        self._filling: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def take(self, wall_s: float) -> Worker | None:
        """Return a live worker for up to `wall_s` seconds, owned by the caller; None if there is
        none.

        Starts a replacement in the background.
        """
        taken = None
        while self._ready and taken is None:
            worker = self._ready.popleft()
            if worker.process.has_ended():
                self._throw_away(worker)
            elif worker.wall_s != wall_s:
                self._ready.appendleft(worker)
                return None
            else:
                taken = worker
        self._refill()
        return taken

    async def fill(self) -> None:
        """Start all workers; a failure is logged."""
        self._refill()
        if self._filling is not None:
            await asyncio.shield(self._filling)

    async def close(self) -> None:
        """End all of them."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait({self._filling})
        while self._ready:
            self._throw_away(self._ready.popleft())
        while self._closing:
            await asyncio.wait(set(self._closing))

    def _refill(self) -> None:
        if self._closed or (self._filling is not None and not self._filling.done()):
            return
        if len(self._ready) < self._size:
            self._filling = asyncio.ensure_future(self._start_missing())

    async def _start_missing(self) -> None:
        try:
            while len(self._ready) < self._size:
                self._ready.append(await self._park())
        except TollgateError as error:
            _log.warning("cannot keep a worker warm: %s", error)

    def _throw_away(self, worker: Worker) -> None:
        closing = asyncio.ensure_future(worker.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
