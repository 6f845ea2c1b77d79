"""Recovery of delegated tasks after a restart: some continue, the others are interrupted.

If the agent waited for the work, its call was interrupted, and the work continues in the
background. A task continues from its last finished model request or round of calls. A started call
may have taken effect and is never run again; the sub-agent is notified that it was interrupted.
Open confirmations stay open, and the round continues with the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from app.agents.budget import Spending
from app.agents.delegation.events import TaskEvents
from app.agents.delegation.model import Parent, SubagentTask, TaskBatch
from app.agents.delegation.progress import KeptParent, parent_read, task_read
from app.agents.delegation.repository import DelegationRepository, OrphanedBatch
from app.agents.delegation.task_calls import TaskCalls
from app.agents.delegation.task_limits import TaskLimitResolver
from app.agents.orphaned_runs import results_of
from app.agents.recovery import FoundRun, SuspendedRun
from app.agents.restart_policy import MOST_TRIES
from app.agents.sessions import Block, Session, Sessions
from app.core.clock import Clock
from app.core.error_boundary import try_call
from app.db.writer import Transaction
from app.governance.agent_store import AgentStore

log = logging.getLogger(__name__)

IsRevoked = Callable[[str | None], Awaitable[bool]]

# End statuses of the delegating run that also stop its background work.
_STOPPED = ("cancelled", "interrupted")


class DelegationRecovery:
    """Takes over delegated work of ended processes."""

    def __init__(
        self,
        sessions: Sessions,
        agents: AgentStore,
        limits: TaskLimitResolver,
        repository: DelegationRepository,
        events: TaskEvents,
        calls: TaskCalls,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._agents = agents
        self._limits = limits
        self._repository = repository
        self._events = events
        self._calls = calls
        self._clock = clock

    async def take_over(self, left: Iterable[FoundRun], is_revoked: IsRevoked) -> list[TaskBatch]:
        """Take over the batches to continue; close all others.

        Args:
            left: runs of sub-agents that may continue.
        """
        runs = {run.id: run for run in left}
        going_on = []
        for lost in await self._repository.take_lost():
            session = await self._sessions.get(lost.report.session_id)
            batch = None
            if session is not None and lost.parent is not None and runs_of(lost) <= runs.keys():
                batch = await self._revived(lost, lost.parent, session, runs, is_revoked)
            if batch is None:
                self._close(lost, session, runs)
            else:
                going_on.append(batch)
        return going_on

    def _close(
        self, lost: OrphanedBatch, session: Session | None, runs: dict[str, FoundRun]
    ) -> None:
        """Close a batch with its events. Synchronous, so that one commit contains all of it."""
        if session is not None:
            for task in lost.report.tasks:
                if task.run_id in runs:
                    trail = runs[task.run_id].trail
                    self._events.orphan_closed(session.log, task.run_id, trail)
        for task in self._repository.close(lost):
            if session is not None:
                self._events.lost(session.log, lost.report.parent_run_id, task)

    async def _revived(
        self,
        lost: OrphanedBatch,
        parent: str,
        session: Session,
        runs: dict[str, FoundRun],
        is_revoked: IsRevoked,
    ) -> TaskBatch | None:
        """Return the batch to continue, or None if it must not or cannot continue."""
        if lost.parent_status in _STOPPED:
            return None
        if not lost.report.background and lost.parent_status != "running":
            return None  # its waiter does not continue
        kept, error = try_call(parent_read, parent)
        if kept is not None:
            if await is_revoked(kept.quota_subject.token_id):
                return None
            batch, error = try_call(self._batch, lost, kept, session, runs)
            if batch is not None:
                if any(task.tries > MOST_TRIES for task in batch.tasks):
                    log.error("batch %s is not continued again", batch.id)
                    return None
                results = await self._results(batch, runs)
                _, error = try_call(self._resume, batch, runs, results)
                if error is None:
                    return batch
                self._forget(batch)
        log.error("batch %s cannot continue", lost.report.batch_id, exc_info=error)
        return None

    def _forget(self, batch: TaskBatch) -> None:
        """Discard a batch, with its open questions."""
        for task in batch.tasks:
            self._calls.forget(task)
            batch.parent.session.log.holders.discard(task.run_id)

    def _batch(
        self, lost: OrphanedBatch, kept: KeptParent, session: Session, runs: dict[str, FoundRun]
    ) -> TaskBatch:
        report = lost.report
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        batch = TaskBatch(
            id=report.batch_id,
            kind=report.kind,
            name=report.name,
            parent=kept.of(session, report.parent_run_id),
            background=True,
            fingerprint=lost.fingerprint,
            concurrency=kept.concurrency,
            tasks=[],
            created_at=report.created_at,
            began=self._clock.monotonic(),
            kept=done,
        )
        batch.tasks = [self._task(batch, place, lost, runs) for place in range(len(report.tasks))]
        return batch

    def _task(
        self, batch: TaskBatch, place: int, lost: OrphanedBatch, runs: dict[str, FoundRun]
    ) -> SubagentTask:
        """Restore one task within the present limits."""
        report = lost.report.tasks[place]
        kept = task_read(lost.progress[report.task_id] or "")
        task = self._limits.task_of(batch, place, kept.spec)
        if task.limits.agent_id is not None:
            # A task of a removed agent must not continue without an agent's profile.
            self._agents.require(task.limits.agent_id)
        task.id, task.run_id = report.task_id, report.run_id
        task.status, task.goes_on = report.status, True
        task.error = None if report.error is None else dict(report.error)
        task.rounds, task.calls = report.rounds, [dict(call) for call in report.calls]
        for name, value in kept.fields.items():
            setattr(task, name, value)
        task.spending = Spending.of(report.usage)
        task.started_at, task.finished_at = report.started_at, report.finished_at
        waited = isinstance(runs.get(task.run_id), SuspendedRun)
        if task.is_over:
            task.ended.set()
        elif not lost.is_left and not waited and (task.started_at is not None or not lost.begun):
            # Its process crashed: possibly because of this step or start.
            task.tries += 1
        return task

    async def _results(self, batch: TaskBatch, runs: dict[str, FoundRun]) -> dict[str, list[Block]]:
        """Return by task the notes on the calls that were active."""
        cut = [
            task
            for task in batch.tasks
            if task.run_id in runs and task.uses and not isinstance(runs[task.run_id], SuspendedRun)
        ]
        session_id = batch.parent.session.id

        def read(transaction: Transaction) -> dict[str, list[Block]]:
            return {
                task.id: results_of(
                    *(transaction, session_id, task.run_id, task.message_id, task.uses),
                    runs[task.run_id].trail.events,
                )
                for task in cut
            }

        return await self._repository.read(read)

    def _resume(
        self, batch: TaskBatch, runs: dict[str, FoundRun], results: dict[str, list[Block]]
    ) -> None:
        """End interrupted calls and notify their tasks; calls with open questions continue to wait.

        Synchronous, so that one commit contains all of it, and an interrupted process leaves
        nothing half done.
        """
        self._repository.keep_parent(batch)
        for task in batch.tasks:
            if task.is_over:
                continue
            run = runs.get(task.run_id)
            if run is not None:
                self._events.taken_up(task, batch.parent)
            if isinstance(run, SuspendedRun):
                self._wait_again(task, batch.parent, run)
            elif run is not None:
                self._events.resumed(task, batch.parent, run.trail)
                if task.id in results:
                    _note(task, run.trail.events)
                    task.messages.append({"role": "user", "content": results[task.id]})
            self._repository.save(task)

    def _wait_again(self, task: SubagentTask, parent: Parent, run: SuspendedRun) -> None:
        """Accept answers to the task's questions again, even before it continues."""
        project = self._limits.project_of(parent, task.limits.roots)
        task.suspended = self._calls.rebuild(task, parent, project, run.batch)


def runs_of(lost: OrphanedBatch) -> set[str]:
    """Return the runs of tasks that had started and not ended."""
    return {task.run_id for task in lost.report.tasks if task.task_id in lost.begun}


def _note(task: SubagentTask, events: Iterable[dict[str, Any]]) -> None:
    """Record the calls of the interrupted round for observers of the task."""
    ends = {e["operation_id"]: e["status"] for e in events if e["type"] == "tool_call_completed"}
    task.calls += [
        {
            "tool_call_id": event["tool_call_id"],
            "operation_id": event["operation_id"],
            "tool": event["tool_name"],
            "status": ends.get(event["operation_id"], "interrupted"),
            "route": task.routes.get(event["tool_name"], "disabled"),
        }
        for event in events
        if event["type"] == "tool_call_started" and event.get("message_id") == task.message_id
    ]
