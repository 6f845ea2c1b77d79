"""Execution of batches until every task, and then the batch, has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from typing import Any

from app.agents.delegation.conversation import Conversation, answers_of
from app.agents.delegation.events import TaskEvents
from app.agents.delegation.model import SubagentTask, TaskBatch
from app.agents.delegation.ports import Workers, WorkerScope
from app.agents.delegation.repository import INTERRUPTED, DelegationRepository
from app.agents.delegation.session import SubagentSession
from app.agents.delegation.task_calls import TaskCalls
from app.agents.delegation.task_limits import TaskLimitResolver
from app.agents.delegation.task_model import TaskModel
from app.config.settings import Settings
from app.core import process
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary, try_call
from app.core.errors import StorageUnavailable, TollgateError
from app.core.ids import new_id
from app.db.writer import RETRY_S
from app.domain.delegation import TaskStatus

log = logging.getLogger(__name__)


class DelegationSlots:
    """Slots by depth: at least one process stays free for sub-agents that do not delegate, and so
    end.

    Args:
        processes: maximum concurrent sub-agents.
    """

    def __init__(self, limits: TaskLimitResolver, processes: int) -> None:
        self._limits = limits
        self._processes = processes
        self._slots: dict[int, asyncio.Semaphore] = {}

    def of(self, task: SubagentTask, depth: int) -> AbstractAsyncContextManager[None]:
        """Return a slot for a delegating sub-agent of the depth; others need none."""
        if not task.limits.scope.may_delegate:
            return nullcontext()
        # A profile may have changed since the task was created.
        levels = max(1, self._limits.deepest() - 1)
        most = max(1, (self._processes - 1) // levels)
        return self._slots.setdefault(depth, asyncio.Semaphore(most))


class BatchRunner:
    """Runs batches, each task in a separate process.

    Attributes:
        on_run_ended: called for a sub-agent's run that ended without an answer.
        is_closing: the service stops: ends that cannot be recorded are left to the next process.
    """

    def __init__(
        self,
        workers: Workers,
        limits: TaskLimitResolver,
        repository: DelegationRepository,
        events: TaskEvents,
        calls: TaskCalls,
        model: TaskModel,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self.on_run_ended: Callable[[str], None] = lambda _: None
        self.is_closing = False
        self._workers = workers
        self._limits = limits
        self._repository = repository
        self._events = events
        self._calls = calls
        self._model = model
        self._clock = clock
        self._settings = settings
        self._owner = process.identity()
        self._slots = DelegationSlots(limits, settings.sub_agent.processes)

    async def bring_to_end(self, batch: TaskBatch, depth: int) -> None:
        """Run every task of a stored batch; `depth` is their nesting depth."""
        slots = asyncio.Semaphore(batch.concurrency)
        working = [
            asyncio.create_task(self._work_on(batch, task, slots, depth), name=task.id)
            for task in batch.tasks
            if not task.is_over  # in the previous process
        ]
        recorded = await asyncio.gather(*working, return_exceptions=True)
        if any(task.is_left for task in batch.tasks):
            await self._record(batch.id, partial(self._repository.leave, batch))
            return
        batch.finished_at = isoformat(self._clock.now())
        # Tasks without a stored end are ended by the next process.
        if all(is_recorded is True for is_recorded in recorded):
            await self._record(batch.id, partial(self._repository.end, batch))
        with suppress(StorageUnavailable):
            await self._repository.flush()
        self._events.batch_ended(batch)

    def leave_questions(self, task: SubagentTask) -> None:
        """Leave the open questions of a task to the next process."""
        self._calls.suspend(task)

    async def _work_on(
        self, batch: TaskBatch, task: SubagentTask, slots: asyncio.Semaphore, depth: int
    ) -> bool:
        """Run a task to its end in any case; return whether the end is recorded."""
        status: TaskStatus = "error"
        # Registered now: cancelling an unstarted coroutine would also cancel the recording of its
        # end.
        task.work = asyncio.current_task()
        with ErrorBoundary() as held:
            try:
                if task.stopped_as is None:
                    status = await self._attempt(batch, task, slots, depth)
                else:
                    status = task.stopped_as
            except asyncio.CancelledError:
                status = task.stopped_as or "cancelled"
            except TimeoutError:
                status = "timeout"
                seconds = task.limits.timeout_s
                task.error = _error("timeout", f"The task did not finish within {seconds:g} s")
            finally:
                is_left = task.is_left and status == "interrupted"
                if task.suspended is not None and not is_left:
                    self._calls.abandon(task.suspended)
        if held.error is not None:
            task.error = self._redacted_error(task, held.error)
        if task.is_left and status == "interrupted":
            return await self._leave(batch, task)
        task.is_left = False
        return await self._end(batch, task, status)

    async def _attempt(
        self, batch: TaskBatch, task: SubagentTask, slots: asyncio.Semaphore, depth: int
    ) -> TaskStatus:
        if task.is_answered:  # nothing else was left to do
            return "success"
        for label in task.spec.after:
            other = batch.labelled(label)
            await other.ended.wait()
            if other.status != "success":
                message = f"{label!r}, which it depends on, did not succeed ({other.status})"
                task.error = _error("dependency_failed", message)
                return "skipped"
        async with slots, self._slots.of(task, depth):
            return await self._run(batch, task)

    async def _run(self, batch: TaskBatch, task: SubagentTask) -> TaskStatus:
        parent, limits = batch.parent, task.limits
        project = self._limits.project_of(parent, limits.roots)
        place = WorkerScope() if project is None else WorkerScope(project.root, limits.roots)
        async with (
            self._workers.take(place) as worker,
            asyncio.timeout(limits.timeout_s - task.spent_s),
        ):
            task.worker_pid = worker.pid
            task.began = self._clock.monotonic()
            task.status = "running"
            if task.started_at is None:
                task.started_at = isoformat(self._clock.now())
                self._events.started(task, parent, self._owner)
            self._repository.save(task)
            await self._repository.flush()
            conversation = Conversation(
                *(self._model, self._settings),
                task=task,
                parent=parent,
                project=project,
                given=answers_of(batch.labelled(label) for label in task.spec.after),
            )
            session_of_task = SubagentSession(
                task,
                parent,
                worker=worker,
                project=project,
                conversation=conversation,
                calls=self._calls,
                repository=self._repository,
            )
            return "success" if await session_of_task.run() else "max_rounds"

    def _redacted_error(self, task: SubagentTask, error: BaseException) -> dict[str, Any]:
        """Return the public part of the error that ended a task."""
        if isinstance(error, TollgateError):
            return _error(str(error.details.get("code", error.code)), error.message)
        error_id = new_id("err")
        log.error("task %s failed unexpectedly (%s)", task.id, error_id, exc_info=error)
        return _error("internal", f"Internal error {error_id}")

    async def _end(self, batch: TaskBatch, task: SubagentTask, status: TaskStatus) -> bool:
        """Record the end once."""
        task.finished_at = isoformat(self._clock.now())
        task.status = status
        if status == "interrupted":
            task.error = dict(INTERRUPTED)
        self._events.released(task)
        task.ended.set()
        if status not in ("success", "max_rounds"):
            # No one waits for the background work of its own sub-agents.
            self.on_run_ended(task.run_id)
        is_recorded = await self._record(task.id, partial(self._write_end, batch, task))
        batch.parent.session.log.holders.discard(task.run_id)
        return is_recorded

    async def _leave(self, batch: TaskBatch, task: SubagentTask) -> bool:
        """Leave an unfinished task to the next process."""
        is_recorded = await self._record(task.id, partial(self._write_left, task))
        batch.parent.session.log.holders.discard(task.run_id)
        task.ended.set()
        return is_recorded

    def _write_left(self, task: SubagentTask) -> None:
        self._repository.save(task)
        if task.started_at is not None:
            self._events.left(task)

    def _write_end(self, batch: TaskBatch, task: SubagentTask) -> None:
        """Write the end and its event in one commit; the event last, because it may be retried."""
        self._repository.save(task)
        if task.started_at is not None:
            self._events.ended(task, batch.parent)

    async def _record(self, name: str, write: Callable[[], None]) -> bool:
        """Write as soon as the database accepts it; give up when the service closes."""
        while True:
            _, error = try_call(write)
            if not isinstance(error, StorageUnavailable) or self.is_closing:
                break
            await asyncio.sleep(RETRY_S)
        if error is not None:
            log.error("cannot record the end of %s", name, exc_info=error)
        return error is None


def _error(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}
