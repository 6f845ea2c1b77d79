"""Calls that wait for people while they run: futures that wake, rows that decide.

What is waited for stands in a row of its own, found again by the call's operation. A call
of a former process is expected here from the moment its batch is rebuilt, so that an
answer finds it before it has begun anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from app.core.clock import Clock
from app.core.errors import StorageUnavailable
from app.db.writer import DatabaseWriter
from app.execution.call import CallState
from app.execution.suspension import RunSuspension

T = TypeVar("T")
Kind = Literal["question", "ticket"]
Lookup = Callable[[str], CallState | None]


@dataclass(frozen=True, slots=True)
class InputResult:
    """How the wait ended: what it was, and what was said."""

    outcome: str
    answer: Any = None


@dataclass(slots=True, eq=False)
class PendingInput:
    """One call that waits.

    Attributes:
        subject_id: the question or ticket.
        request: what the event of an open question says; empty for anything else.
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
    """Who writes the end of a wait into its row."""

    cancel: Callable[[PendingInput], None]
    expire: Callable[[PendingInput], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class _Open:
    by_operation: dict[str, PendingInput] = field(default_factory=dict)
    by_subject: dict[str, PendingInput] = field(default_factory=dict)


class PendingInputs:
    """The calls of this process that wait. A `Suspendable`."""

    def __init__(self, db: DatabaseWriter, clock: Clock, suspension: RunSuspension) -> None:
        self._db = db
        self._clock = clock
        self._suspension = suspension
        self._open = _Open()
        self._owners: dict[Kind, InputOwner] = {}
        self._find: Lookup = lambda _: None
        self._tasks: set[asyncio.Task[Any]] = set()
        suspension.watch(self)

    def bind(self, find: Lookup) -> None:
        """How the call of an operation that is under way is found."""
        self._find = find

    def own(self, kind: Kind, owner: InputOwner) -> None:
        """Who writes the ends of this kind."""
        self._owners[kind] = owner

    def call(self, operation_id: str) -> CallState:
        """The call that is under way.

        Raises:
            LookupError: the gate runs no such call.
        """
        call = self._find(operation_id)
        if call is None:
            raise LookupError(f"call {operation_id!r} is not active")
        return call

    def of(self, operation_id: str) -> PendingInput | None:
        """What a call waits for."""
        return self._open.by_operation.get(operation_id)

    def about(self, subject_id: str) -> PendingInput | None:
        """The call that waits for this question or ticket."""
        return self._open.by_subject.get(subject_id)

    def in_session(self, session_id: str) -> Iterator[PendingInput]:
        """The calls of a session that wait, the oldest first."""
        return (wait for wait in self._open.by_subject.values() if wait.session_id == session_id)

    def expect(
        self, kind: Kind, subject_id: str, call: CallState, request: Mapping[str, Any]
    ) -> PendingInput:
        """A call is going to wait, or will be made again to go on waiting."""
        future: asyncio.Future[InputResult] = asyncio.get_running_loop().create_future()
        wait = PendingInput(kind, subject_id, call, request, future)
        self._open.by_operation[call.operation_id] = wait
        self._open.by_subject[subject_id] = wait
        return wait

    async def wait(self, wait: PendingInput, expires: float | None) -> InputResult:
        """The end of it.

        Args:
            expires: Unix time at which nobody waits any more.

        Raises:
            StorageUnavailable: what is waited for cannot be committed.
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

    def resolve(self, wait: PendingInput, ended: InputResult) -> None:
        """Wake the call."""
        self.drop(wait)
        if not wait.future.done():
            wait.future.set_result(ended)

    def drop(self, wait: PendingInput) -> bool:
        """Forget it; False when it was over already."""
        if wait.timer is not None:
            wait.timer.cancel()
        if self._open.by_subject.pop(wait.subject_id, None) is None:
            return False
        del self._open.by_operation[wait.call.operation_id]
        return True

    def give_up(self, call: CallState) -> None:
        """Leave nothing open that a call waited for, because it will not go on."""
        wait = self.of(call.operation_id)
        if wait is not None:
            self._cancel(wait)

    def settled(self, call: CallState) -> None:
        """As `give_up`, for a call whose end is recorded; one that is left to others has none."""
        if self._open.by_operation and call.outcome is not None:
            self.give_up(call)

    def leaves(self, call: CallState) -> bool:
        """Whether a cancelled call stays as it is for the process that comes next."""
        waits = self.of(call.operation_id) is not None
        return waits and self._suspension.is_suspended(call.context.run_id)

    def forget(self, run_id: str) -> None:
        """Drop what waits in a run that is closed as a whole."""
        for wait in [item for item in self._open.by_subject.values() if item.run_id == run_id]:
            self.drop(wait)

    def suspend(self, run_id: str) -> bool:
        waiting = [item for item in self._open.by_subject.values() if item.run_id == run_id]
        for wait in waiting:
            if wait.timer is not None:
                wait.timer.cancel()
        return bool(waiting)

    def keep(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` to its end, whoever stops waiting for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for it gets it; nobody may be waiting any more

    def _expire(self, wait: PendingInput) -> None:
        self.keep(self._owners[wait.kind].expire(wait))

    def _cancel(self, wait: PendingInput) -> None:
        if self.drop(wait):
            self._owners[wait.kind].cancel(wait)
            if not wait.future.done():
                wait.future.set_result(InputResult("cancelled"))
