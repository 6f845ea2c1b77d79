"""Calls that wait for people while they run: futures wake them, rows decide.

Each request has a row, found by the call's operation ID. A call of a previous process is registered
as soon as its batch is rebuilt, so that an answer finds it even before it starts again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from app.core.clock import Clock
from app.core.errors import StorageUnavailable
from app.core.kept_tasks import KeptTasks
from app.db.writer import DatabaseWriter
from app.execution.call import CallState
from app.execution.suspension import RunSuspension
from app.execution.wait_watcher import NoWatcher, WaitWatcher

T = TypeVar("T")
Kind = Literal["question", "ticket"]
Lookup = Callable[[str], CallState | None]


@dataclass(frozen=True, slots=True)
class InputResult:
    """End of a wait: its kind and its answer."""

    outcome: str
    answer: Any = None


@dataclass(slots=True, eq=False)
class PendingInput:
    """One call that waits.

    Attributes:
        subject_id: ID of the question or ticket.
        request: event of an open question; empty for other kinds.
    """

    kind: Kind
    subject_id: str
    call: CallState
    request: Mapping[str, Any]
    future: asyncio.Future[InputResult]
    timer: asyncio.TimerHandle | None = None

    @property
    def session_id(self) -> str:
        return self.call.context.session_id

    @property
    def run_id(self) -> str | None:
        return self.call.context.run_id


@dataclass(frozen=True, slots=True)
class InputOwner:
    """Stores the end of a wait in its row."""

    cancel: Callable[[PendingInput], None]
    expire: Callable[[PendingInput], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class _Open:
    by_operation: dict[str, PendingInput] = field(default_factory=dict)
    by_subject: dict[str, PendingInput] = field(default_factory=dict)


class PendingInputs:
    """Waiting calls of this process. A `Suspendable`."""

    def __init__(self, db: DatabaseWriter, clock: Clock, suspension: RunSuspension) -> None:
        self._db = db
        self._clock = clock
        self._suspension = suspension
        self._open = _Open()
        self._owners: dict[Kind, InputOwner] = {}
        self._find: Lookup = lambda _: None
        self._tasks = KeptTasks()
        self._watcher: WaitWatcher = NoWatcher()
        suspension.watch(self)

    def watch(self, watcher: WaitWatcher) -> None:
        """Notify `watcher` of the open questions, and of each from now on."""
        self._watcher = watcher
        for wait in self._open.by_subject.values():
            self._announce(wait)

    def bind(self, find: Lookup) -> None:
        """Set how the call of an active operation is found."""
        self._find = find

    def own(self, kind: Kind, owner: InputOwner) -> None:
        """Set the writer for ends of this kind."""
        self._owners[kind] = owner

    def call(self, operation_id: str) -> CallState:
        """Return the active call.

        Raises:
            LookupError: the gate runs no such call.
        """
        call = self._find(operation_id)
        if call is None:
            raise LookupError(f"call {operation_id!r} is not active")
        return call

    def of(self, operation_id: str) -> PendingInput | None:
        """Return what a call waits for."""
        return self._open.by_operation.get(operation_id)

    def about(self, subject_id: str) -> PendingInput | None:
        """Return the call that waits for this question or ticket."""
        return self._open.by_subject.get(subject_id)

    def in_session(self, session_id: str) -> Iterator[PendingInput]:
        """Yield the waiting calls of a session, oldest first."""
        return (wait for wait in self._open.by_subject.values() if wait.session_id == session_id)

    def expect(
        self, kind: Kind, subject_id: str, call: CallState, request: Mapping[str, Any]
    ) -> PendingInput:
        """Register a call that will wait, or that restarts to continue waiting."""
        future: asyncio.Future[InputResult] = asyncio.get_running_loop().create_future()
        wait = PendingInput(kind, subject_id, call, request, future)
        self._open.by_operation[call.operation_id] = wait
        self._open.by_subject[subject_id] = wait
        self._announce(wait)
        return wait

    def _announce(self, wait: PendingInput) -> None:
        """Tell of a question; operators find tickets, which may wait for days, in their list."""
        if wait.kind == "question" and wait.request:
            self._watcher.opened(wait.kind, wait.subject_id, wait.session_id, wait.request)

    async def wait(self, wait: PendingInput, expires: float | None) -> InputResult:
        """Wait for the end of the request.

        Args:
            expires: Unix time at which the wait ends.

        Raises:
            StorageUnavailable: the request cannot be committed.
        """
        try:
            await self._db.flush()
            if expires is not None and not wait.future.done():
                left = max(0.0, expires - self._clock.time())
                loop = asyncio.get_running_loop()
                wait.timer = loop.call_later(left, self._expire, wait)
            return await wait.future
        except asyncio.CancelledError:
            if not self._suspension.is_suspended(wait.run_id):
                self._cancel(wait)
            raise
        except StorageUnavailable:
            self._cancel(wait)
            raise

    def resolve(self, wait: PendingInput, ended: InputResult, *, by: str | None = None) -> None:
        """Wake the call; `by` is the user who answered."""
        self.drop(wait, ended.outcome, by)
        if not wait.future.done():
            wait.future.set_result(ended)

    def drop(self, wait: PendingInput, outcome: str = "cancelled", by: str | None = None) -> bool:
        """Remove the wait; False if it is already over."""
        if wait.timer is not None:
            wait.timer.cancel()
        if self._open.by_subject.pop(wait.subject_id, None) is None:
            return False
        del self._open.by_operation[wait.call.operation_id]
        self._watcher.closed(wait.subject_id, outcome, by)
        return True

    def give_up(self, call: CallState) -> None:
        """Close all requests of a call that does not continue."""
        wait = self.of(call.operation_id)
        if wait is not None:
            self._cancel(wait)

    def settled(self, call: CallState) -> None:
        """Close all requests of a recorded call; one left to the next process has none."""
        if self._open.by_operation and call.outcome is not None:
            self.give_up(call)

    def leaves(self, call: CallState) -> bool:
        """Return whether a cancelled call is left unchanged for the next process."""
        waits = self.of(call.operation_id) is not None
        return waits and self._suspension.is_suspended(call.context.run_id)

    def forget(self, run_id: str) -> None:
        """Drop the requests of a run that is closed as a whole."""
        for wait in [item for item in self._open.by_subject.values() if item.run_id == run_id]:
            self.drop(wait)

    def suspend(self, run_id: str) -> bool:
        waiting = [item for item in self._open.by_subject.values() if item.run_id == run_id]
        for wait in waiting:
            if wait.timer is not None:
                wait.timer.cancel()
        return bool(waiting)

    def keep(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` to its end, even if its waiter is cancelled."""
        return self._tasks.keep(work)

    def _expire(self, wait: PendingInput) -> None:
        self.keep(self._owners[wait.kind].expire(wait))

    def _cancel(self, wait: PendingInput) -> None:
        if self.drop(wait):
            self._owners[wait.kind].cancel(wait)
            if not wait.future.done():
                wait.future.set_result(InputResult("cancelled"))
