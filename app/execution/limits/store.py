"""Counters of limits: a Protocol, and its implementation for one process.

Every counter has a key (`user:…`, `token:…`, `tool:…`, `agent:…`) and its own limit; a call uses
several at once: all of them or none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.core.clock import Clock
from app.core.token_bucket import TokenBucket
from app.governance.limits import Limits

LimitCode = Literal["rate_limited", "concurrency_limited", "calls_per_run"]
TRY_AGAIN_MS = 1000


@dataclass(frozen=True, slots=True)
class Demand:
    """Use of one counter by a call, with the counter's limits."""

    key: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class Shortage:
    """Limit that was reached. `retry_after_ms` is None if waiting does not help."""

    code: LimitCode
    key: str
    limit: int
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """Slot among the running calls, under each of these keys."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CounterUsage:
    """State of one counter. `calls_left` per minute is None without a rate."""

    key: str
    calls_left: int | None
    running: int
    waiting: int


class LimitStore(Protocol):
    """Store of counters. Another implementation may count for several processes."""

    async def spend(self, demands: Sequence[Demand], run_id: str | None) -> Shortage | None:
        """Take one call from every rate and run limit, or none and return the shortage."""

    async def enter(
        self, demands: Sequence[Demand], *, queue: int | None, wait_s: float | None
    ) -> Lease | Shortage:
        """Wait in the queue for a slot among the running calls.

        Args:
            queue: maximum waiting calls before this one; None for no limit.
            wait_s: maximum seconds to wait; None for no limit.
        """

    def leave(self, lease: Lease) -> None:
        """Release a slot. Synchronous, because the call may be being cancelled."""

    def run_ended(self, run_id: str) -> None:
        """Discard the counts of an ended run."""

    def usage(self) -> list[CounterUsage]:
        """Return every counter in use."""


@dataclass(eq=False, slots=True)
class _Waiter:
    demands: Sequence[Demand]
    turn: asyncio.Future[Lease]


class MemoryLimits:
    """`LimitStore` in this process, used only on the loop's thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, TokenBucket] = {}
        self._runs: dict[str, dict[str, int]] = {}
        self._running: dict[str, int] = {}
        self._line: list[_Waiter] = []

    async def spend(self, demands: Sequence[Demand], run_id: str | None) -> Shortage | None:
        spent = self._runs.get(run_id, {}) if run_id else {}
        buckets = []
        for demand in demands:
            most = demand.limits.calls_per_run
            if run_id and most is not None and spent.get(demand.key, 0) >= most:
                return Shortage("calls_per_run", demand.key, most)
        for demand in demands:
            rate = demand.limits.calls_per_minute
            if rate is None:
                continue
            bucket = self._bucket(demand.key, rate)
            if not bucket.has_token():
                return Shortage("rate_limited", demand.key, rate, bucket.wait_ms())
            buckets.append(bucket)
        for bucket in buckets:
            bucket.level -= 1
        if run_id:
            self._count(run_id, demands)
        return None

    def _bucket(self, key: str, rate: int) -> TokenBucket:
        now = self._clock.monotonic()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket.per_minute(rate, now)
        bucket.limit_to(rate)
        bucket.refill(now)
        return bucket

    def _count(self, run_id: str, demands: Sequence[Demand]) -> None:
        for demand in demands:
            if demand.limits.calls_per_run is not None:
                spent = self._runs.setdefault(run_id, {})
                spent[demand.key] = spent.get(demand.key, 0) + 1

    async def enter(
        self, demands: Sequence[Demand], *, queue: int | None, wait_s: float | None
    ) -> Lease | Shortage:
        full = self._full(demands)
        if full is None:
            return self._take(demands)
        most = full.limits.concurrent or 0
        shortage = Shortage("concurrency_limited", full.key, most, TRY_AGAIN_MS)
        if any(demand.limits.concurrent == 0 for demand in demands):
            return Shortage("concurrency_limited", full.key, most)
        if queue is not None and self._waiting({full.key}) >= queue:
            return shortage
        waiter = _Waiter(demands, asyncio.get_running_loop().create_future())
        self._line.append(waiter)
        try:
            async with asyncio.timeout(wait_s):
                return await waiter.turn
        except TimeoutError:
            if waiter.turn.done() and not waiter.turn.cancelled():
                return waiter.turn.result()
            return shortage
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled():
                self.leave(waiter.turn.result())
            raise
        finally:
            if waiter in self._line:
                self._line.remove(waiter)

    def leave(self, lease: Lease) -> None:
        for key in lease.keys:
            left = self._running.get(key, 0) - 1
            if left > 0:
                self._running[key] = left
            else:
                self._running.pop(key, None)
        # In order of arrival; a call blocked by another counter does not block the queue.
        for waiter in tuple(self._line):
            if not waiter.turn.done() and self._full(waiter.demands) is None:
                self._line.remove(waiter)
                waiter.turn.set_result(self._take(waiter.demands))

    def run_ended(self, run_id: str) -> None:
        self._runs.pop(run_id, None)

    def usage(self) -> list[CounterUsage]:
        now = self._clock.monotonic()
        for bucket in self._buckets.values():
            bucket.refill(now)
        waiting = {demand.key for waiter in self._line for demand in waiter.demands}
        return [
            CounterUsage(
                key,
                int(self._buckets[key].level + 1e-9) if key in self._buckets else None,
                self._running.get(key, 0),
                self._waiting({key}),
            )
            for key in sorted(self._buckets.keys() | self._running.keys() | waiting)
        ]

    def _full(self, demands: Sequence[Demand]) -> Demand | None:
        """Return the first counter without a free slot."""
        for demand in demands:
            most = demand.limits.concurrent
            if most is not None and self._running.get(demand.key, 0) >= most:
                return demand
        return None

    def _take(self, demands: Sequence[Demand]) -> Lease:
        keys = tuple(demand.key for demand in demands if demand.limits.concurrent is not None)
        for key in keys:
            self._running[key] = self._running.get(key, 0) + 1
        return Lease(keys)

    def _waiting(self, keys: Collection[str]) -> int:
        return sum(
            any(demand.key in keys and demand.limits.concurrent is not None for demand in w.demands)
            for w in self._line
        )
