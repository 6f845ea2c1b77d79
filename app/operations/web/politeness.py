"""Limits on concurrency and rate of requests per host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.core.clock import Clock


@dataclass(slots=True)
class _Host:
    places: asyncio.Semaphore
    next_start: float = 0.0
    users: int = 0


class Politeness:
    """Waiters by host.

    Attributes:
        hosts: hosts with current or recent requests.
    """

    def __init__(self, clock: Clock, *, per_host: int, interval_s: float) -> None:
        self.hosts: dict[str, _Host] = {}
        self._clock = clock
        self._per_host = per_host
        self._interval_s = interval_s

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Wait for a turn; a request to `host` may be sent inside."""
        state = self.hosts.setdefault(host, _Host(asyncio.Semaphore(self._per_host)))
        state.users += 1
        try:
            async with state.places:
                now = self._clock.monotonic()
                wait = state.next_start - now
                state.next_start = max(state.next_start, now) + self._interval_s
                if wait > 0:
                    await asyncio.sleep(wait)
                yield
        finally:
            state.users -= 1
            self._forget()

    def _forget(self) -> None:
        now = self._clock.monotonic()
        idle = [
            host for host, state in self.hosts.items() if not state.users and state.next_start < now
        ]
        for host in idle:
            del self.hosts[host]
