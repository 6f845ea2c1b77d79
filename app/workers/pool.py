"""Pool of worker processes: a maximum number, some of them warm."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass

from app.agents.delegation.ports import WorkerProcess, WorkerScope
from app.config.sections import SubAgentSettings
from app.core.errors import TollgateError, ToolFailed
from app.operations.local.threads import to_end
from app.operations.sandbox.sandbox import Sandbox
from app.workers.launcher import PROGRAM, SandboxedWorkers, WorkerFolder
from app.workers.worker import ConfinedWorker

_log = logging.getLogger(__name__)

_PLACES = 4
"""Number of most recently used workspaces with warm workers."""


@dataclass(frozen=True, slots=True)
class _Warm:
    """Worker that waits for a task; it reads the folders as of its start."""

    worker: ConfinedWorker
    folders: tuple[WorkerFolder, ...]


class ProcessSlots:
    """Counter of concurrent processes. A cancelled waiter does not take a slot.

    Attributes:
        waiting: number of waiters.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    def try_take(self) -> bool:
        """Take a slot without waiting; never before earlier waiters."""
        if self._waiters or not self._free:
            return False
        self._free -= 1
        return True

    async def take(self) -> None:
        """Take a slot in order of arrival."""
        if self.try_take():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back()  # it was granted at the same moment
            raise
        finally:
            with suppress(ValueError):
                self._waiters.remove(waiter)

    def give_back(self) -> None:
        """Release a slot to the longest waiter."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1


class WorkerPool:
    """`Workers`: each worker runs one task, and is then ended.

    Every live worker, warm or not, occupies one of `settings.processes` slots. A warm one yields
    its slot to a task of another workspace. Must be used on one event loop.

    Args:
        calculator_functions: whether `calculator` may call functions.
        program: program of the workers.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        settings: SubAgentSettings,
        *,
        calculator_functions: bool = False,
        program: str = PROGRAM,
    ) -> None:
        self._workers = SandboxedWorkers(
            sandbox, settings, calculator_functions=calculator_functions, program=program
        )
        self._slots = ProcessSlots(settings.processes)
        self._warm_each = settings.warm
        self._warm: OrderedDict[WorkerScope, list[_Warm]] = OrderedDict()
        self._warming: dict[asyncio.Task[None], WorkerScope] = {}
        self._taken: set[ConfinedWorker] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """Number of tasks waiting for a running one to end."""
        return self._slots.waiting

    def warm(self, place: WorkerScope) -> list[int]:
        """Return the processes that wait for a task of `place`."""
        return [found.worker.pid for found in self._warm.get(place, [])]

    async def settled(self) -> None:
        """Wait until all workers to keep warm have started or failed."""
        while self._warming:
            await asyncio.wait(set(self._warming))

    def take(self, place: WorkerScope) -> AbstractAsyncContextManager[WorkerProcess]:
        """See `Workers.take`."""
        return self._take(place)

    async def close(self) -> None:
        """See `Workers.close`; may be called repeatedly."""
        self._closed = True
        for warming in self._warming:
            warming.cancel()
        for found in self._warm.values():
            while found:
                self._end(found.pop().worker)
        closing = [asyncio.ensure_future(worker.close()) for worker in self._taken]
        while left := {*self._warming, *self._ending, *closing}:
            await asyncio.wait(left)
            closing = []

    async def __aenter__(self) -> WorkerPool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def _take(self, place: WorkerScope) -> AsyncIterator[WorkerProcess]:
        worker = await self._of(place)
        try:
            self._taken.add(worker)
            self._remember(place)
            self._fill()
            yield worker
        finally:
            self._taken.discard(worker)
            await self._ended(worker)
            self._fill()

    async def _of(self, place: WorkerScope) -> ConfinedWorker:
        """Return a worker that occupies a slot."""
        self._require_open()
        if self._warm.get(place):
            found = self._warm_worker(place, await self._workers.folders(place))
            if found is not None:
                return found
        if not self._slots.try_take():
            self._make_room()
            await self._slots.take()
        try:
            self._require_open()
            worker = await self._workers.start(place, await self._workers.folders(place))
        except BaseException:
            self._slots.give_back()
            raise
        if self._closed:  # while the worker was starting and `close` could not know of it
            await self._ended(worker)
            self._require_open()
        return worker

    def _require_open(self) -> None:
        if self._closed:
            raise ToolFailed(
                "Cannot start a sub-agent: the service is stopping", code="worker_lost"
            )

    def _warm_worker(
        self, place: WorkerScope, folders: tuple[WorkerFolder, ...]
    ) -> ConfinedWorker | None:
        """Return a live worker that sees the current folders; end others."""
        found = self._warm.get(place, [])
        while found:
            warm = found.pop(0)
            if not warm.worker.is_over and warm.folders == folders:
                return warm.worker
            self._end(warm.worker)
        return None

    def _make_room(self) -> None:
        """End the warm workers of the least recently used workspace, because a task needs a
        slot.
        """
        for found in self._warm.values():
            if found:
                self._end(found.pop(0).worker)
                return
        for warming in self._warming:
            if not warming.cancelling():
                warming.cancel()
                return

    def _remember(self, place: WorkerScope) -> None:
        """Record the most recently used workspace; the oldest loses its warm workers."""
        self._warm.setdefault(place, [])
        self._warm.move_to_end(place)
        while len(self._warm) > _PLACES:
            _, forgotten = self._warm.popitem(last=False)
            for warm in forgotten:
                self._end(warm.worker)

    def _fill(self) -> None:
        """Start missing workers for recently used workspaces, as far as slots are free."""
        for wanted in reversed(self._warm):
            starting = sum(place == wanted for place in self._warming.values())
            missing = self._warm_each - len(self._warm[wanted]) - starting
            for _ in range(missing):
                if self._closed or not self._slots.try_take():
                    return
                warming = asyncio.create_task(self._start_warm(wanted))
                self._warming[warming] = wanted
                warming.add_done_callback(self._warmed)

    async def _start_warm(self, place: WorkerScope) -> None:
        """Start a worker with an occupied slot, which passes to the worker."""
        folders = await self._workers.folders(place)
        worker = await self._workers.start(place, folders)
        if self._closed or place not in self._warm or self._slots.waiting:
            self._end(worker)
        else:
            self._warm[place].append(_Warm(worker, folders))

    def _warmed(self, warming: asyncio.Task[None]) -> None:
        """Free the slot if no worker was started, even if the task never ran."""
        del self._warming[warming]
        if warming.cancelled():
            self._slots.give_back()
        elif (error := warming.exception()) is not None:
            self._slots.give_back()
            trace = None if isinstance(error, TollgateError) else error
            _log.warning("cannot keep a worker warm: %s", error, exc_info=trace)

    def _end(self, worker: ConfinedWorker) -> None:
        """End a worker in the background, then release its slot."""
        ending = asyncio.create_task(self._ended(worker))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _ended(self, worker: ConfinedWorker) -> None:
        try:
            await to_end(worker.close())
        finally:
            self._slots.give_back()
