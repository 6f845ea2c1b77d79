"""Delegation service: starts sub-agents, enforces limits, and reports results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from app.agents.budget import Spending
from app.agents.delegation.batch_runner import BatchRunner
from app.agents.delegation.model import Parent, Standing, SubagentTask, TaskBatch
from app.agents.delegation.recovery import DelegationRecovery, IsRevoked
from app.agents.delegation.repository import DelegationRepository
from app.agents.delegation.task_limits import TaskLimitResolver, check_batch, fingerprint_of
from app.agents.recovery import FoundRun
from app.agents.sessions import Sessions
from app.config.settings import Settings
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary, try_call
from app.core.errors import InvalidInput, NotFound, ToolFailed
from app.core.ids import new_id
from app.domain.delegation import BatchKind, BatchReport, TaskSpec, TaskStatus
from app.governance.limits import QuotaSubject
from app.toolkit.context import ToolContext

log = logging.getLogger(__name__)

StandingOf = Callable[[str, str | None], Standing]
"""Session and run → state of the delegating run."""

_MAX_BROADCAST = 20_000
_MAX_UNHEARD = 50


class DelegationService:
    """Implements the service `DELEGATION`."""

    def __init__(
        self,
        sessions: Sessions,
        repository: DelegationRepository,
        limits: TaskLimitResolver,
        batch_runner: BatchRunner,
        clock: Clock,
        settings: Settings,
        standing_of: StandingOf,
        *,
        continues: bool = False,
    ) -> None:
        """Create the service; `continues`: the next process continues what this one leaves."""
        self._sessions = sessions
        self._repository = repository
        self._limits = limits
        self._batch_runner = batch_runner
        self._clock = clock
        self._settings = settings
        self._standing_of = standing_of
        self._continues = continues
        self._live: dict[str, TaskBatch] = {}
        batch_runner.on_run_ended = self._run_ended
        # Status of tasks that the service, or their waiter, stops from now on.
        self._stopped_as: TaskStatus = "cancelled"

    async def recover(
        self, recovery: DelegationRecovery, left: Iterable[FoundRun], is_revoked: IsRevoked
    ) -> None:
        """Continue or close the work of ended processes.

        Args:
            left: runs of sub-agents that may continue.
            is_revoked: returns whether work started with a token ID must stop.
        """
        for batch in await recovery.take_over(left, is_revoked):
            self._live[batch.id] = batch
            batch.work = asyncio.create_task(self._go_on(batch), name=batch.id)

    async def start(
        self,
        specs: Sequence[TaskSpec],
        ctx: ToolContext,
        *,
        kind: BatchKind,
        name: str = "",
        concurrency: int | None = None,
        background: bool = False,
    ) -> BatchReport:
        """See `Delegation.start`."""
        check_batch(specs, self._settings)
        parent = await self._parent(ctx, background=background)
        depth = self._limits.depth_of(parent)
        fingerprint = fingerprint_of(kind, name, specs, parent)
        duplicate_of = self._duplicate_of(parent, fingerprint)
        if duplicate_of is not None:
            if background and not duplicate_of.background:
                self._check_room(parent, len(specs), background=True)
                duplicate_of.background = True
                if self._outlives(duplicate_of):
                    self._repository.goes_on(duplicate_of)
            await self._follow(duplicate_of, background=background)
            return duplicate_of.report(duplicate=True)
        self._check_room(parent, len(specs), background=background)
        batch = TaskBatch(
            id=new_id("dlg"),
            kind=kind,
            name=name,
            parent=parent,
            background=background,
            fingerprint=fingerprint,
            concurrency=self._concurrency(concurrency),
            tasks=[],
            created_at=isoformat(self._clock.now()),
            began=self._clock.monotonic(),
            kept=asyncio.get_running_loop().create_future(),
        )
        batch.tasks = [self._limits.task_of(batch, place, spec) for place, spec in enumerate(specs)]
        for task in batch.tasks:
            task.goes_on = self._outlives(batch)
        # Registered before the first await: the same batch must not be started twice.
        self._live[batch.id] = batch
        batch.work = asyncio.create_task(self._work(batch, depth), name=batch.id)
        await self._follow(batch, background=background)
        return batch.report()

    async def report(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        """See `Delegation.report`."""
        batch = self._batch(batch_or_task_id, session_id)
        if batch is None:
            return await self._repository.report(batch_or_task_id, session_id=session_id)
        return batch.report().about(batch_or_task_id)

    async def reports(
        self,
        *,
        session_id: str | None,
        run_id: str | None = None,
        running: bool = False,
        limit: int = 50,
    ) -> list[BatchReport]:
        """See `Delegation.reports`."""
        stored = await self._repository.reports(
            session_id=session_id, run_id=run_id, running=running, limit=limit
        )
        return [
            self._live[report.batch_id].report() if report.batch_id in self._live else report
            for report in stored
        ]

    async def wait(
        self, batch_or_task_id: str, *, session_id: str | None, timeout_s: float
    ) -> BatchReport:
        """See `Delegation.wait`."""
        batch = self._batch(batch_or_task_id, session_id)
        if batch is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    for task in batch.named(batch_or_task_id):
                        await task.ended.wait()
        return await self.report(batch_or_task_id, session_id=session_id)

    async def cancel(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        """See `Delegation.cancel`."""
        batch = self._batch(batch_or_task_id, session_id)
        if batch is not None:
            await self._stop(batch.named(batch_or_task_id), "cancelled")
        return await self.report(batch_or_task_id, session_id=session_id)

    async def broadcast(
        self, text: str, *, session_id: str, batch_id: str | None = None
    ) -> list[str]:
        """See `Delegation.broadcast`."""
        if len(text) > _MAX_BROADCAST:
            raise InvalidInput(
                f"text has {len(text)} characters; the maximum is {_MAX_BROADCAST}", field="text"
            )
        if batch_id is not None and self._batch(batch_id, session_id) is None:
            await self._repository.report(batch_id, session_id=session_id)
        notified = []
        for batch in self._of_session(session_id):
            if batch_id not in (None, batch.id):
                continue
            for task in batch.tasks:
                if task.status == "running" and len(task.unheard) < _MAX_UNHEARD:
                    task.unheard.append(text)
                    if task.goes_on:
                        self._repository.save(task)
                    notified.append(task.id)
        return notified

    def left_by(self, operation_id: str) -> str | None:
        """See `Delegation.left_by`."""
        for batch in self._live.values():
            if batch.parent.operation_id == operation_id:
                return batch.id if any(task.is_left for task in batch.tasks) else None
        return None

    def account_of(self, run_id: str | None) -> tuple[QuotaSubject, Spending] | None:
        """Return the subject and usage that a sub-agent's run is counted for, or None."""
        found = self._task_of_run(run_id)
        if found is None or found[1].is_over:
            return None
        batch, task = found
        return batch.parent.quota_subject, task.spending

    def run_cancelled(self, run_id: str) -> None:
        """Stop the background work of a run that was stopped."""
        self._stop_below(run_id, "cancelled")

    def _run_ended(self, run_id: str) -> None:
        """Record that a sub-agent's run has ended without an answer."""
        self._stop_below(run_id, self._stopped_as)

    def _stop_below(self, run_id: str, status: TaskStatus) -> None:
        for batch in self._live.values():
            if batch.parent.run_id == run_id:
                for task in batch.tasks:
                    self._stop_task(task, status)

    async def cancel_by_token(self, token_id: str) -> None:
        """Stop all work started with a token."""
        for batch in list(self._live.values()):
            if batch.parent.quota_subject.token_id == token_id:
                await self._stop(batch.tasks, "cancelled")

    def closing(self) -> None:
        """Prepare for shutdown: work stopped from now on counts as interrupted."""
        self._stopped_as = "interrupted"
        self._batch_runner.is_closing = True

    async def close(self) -> None:
        """Stop the service: active work is left to the next process, or interrupted."""
        self.closing()
        for batch in list(self._live.values()):
            await self._stop(batch.tasks, self._stopped_as)
            if batch.work is not None:
                await asyncio.wait({batch.work})

    # -- start ------------------------------------------------------------------------

    async def _parent(self, ctx: ToolContext, *, background: bool) -> Parent:
        """Return the calling agent as the parent of a delegation."""
        session = await self._sessions.get(ctx.session_id) if ctx.session_id else None
        if session is None:
            raise ToolFailed("Tasks can only be delegated from a session", code="session_required")
        above = self._task_of_run(ctx.run_id)
        report = None if background else ctx.report
        parent = Parent(
            session=session,
            run_id=ctx.run_id,
            agent_id=ctx.agent_id,
            tool_call_id=ctx.tool_call_id,
            operation_id=ctx.operation_id,
            project_id=ctx.project_id,
            counted_run=ctx.run_id,
            quota_subject=QuotaSubject(ctx.token_id, user_id=ctx.user_id),
            attended=True,
            model=ctx.model,
            business=ctx.business,
            report=report,
        )
        if above is not None:
            batch, task = above
            return replace(
                parent,
                counted_run=batch.parent.counted_run,
                quota_subject=batch.parent.quota_subject,
                attended=batch.parent.attended,
                depth=batch.parent.depth + 1,
                scope=task.limits.scope,
                roots=task.limits.roots,
                max_depth=task.limits.max_depth,
            )
        standing = self._standing_of(session.id, ctx.run_id)
        return replace(
            parent,
            quota_subject=standing.quota_subject,
            attended=standing.attended,
            outlives=standing.outlives,
        )

    def _task_of_run(self, run_id: str | None) -> tuple[TaskBatch, SubagentTask] | None:
        for batch in self._live.values():
            for task in batch.tasks:
                if task.run_id == run_id:
                    return batch, task
        return None

    def _duplicate_of(self, parent: Parent, fingerprint: str) -> TaskBatch | None:
        """Return a recent equal batch, unless it has failed."""
        oldest = self._clock.monotonic() - self._settings.sub_agent.duplicate_window_s
        for batch in self._of_session(parent.session.id):
            same = batch.fingerprint == fingerprint and batch.began > oldest
            if same and not batch.is_stopped and batch.report().status in ("running", "success"):
                return batch
        return None

    def _check_room(self, parent: Parent, more: int, *, background: bool) -> None:
        most = self._settings.sub_agent.background_max
        if not background:
            return
        there = sum(
            not task.is_over
            for batch in self._of_session(parent.session.id)
            if batch.background
            for task in batch.tasks
        )
        if there + more > most:
            raise ToolFailed(
                f"{there} of {most} background sub-agents of this session are running; "
                "wait for them, or cancel some",
                code="too_many_subagents",
                limit=most,
            )

    def _concurrency(self, wanted: int | None) -> int:
        most = self._settings.sub_agent.max_concurrency
        return max(1, min(wanted or most, most))

    # -- work -------------------------------------------------------------------------

    async def _follow(self, batch: TaskBatch, *, background: bool) -> None:
        """Wait for a batch, or only until it is stored; the last waiter to leave stops it.

        Raises:
            StorageUnavailable: it could not be stored, and so was not started.
        """
        assert batch.work is not None
        batch.followers += 1
        try:
            await asyncio.shield(batch.kept)
            if not background:
                await asyncio.shield(batch.work)
        except asyncio.CancelledError:
            is_kept = batch.kept.done()
            if batch.followers == 1 and not (batch.background and is_kept):
                if not is_kept:
                    for task in batch.tasks:
                        task.goes_on = False  # its waiter receives the error
                await self._stop(batch.tasks, self._stopped_as)
            raise
        finally:
            batch.followers -= 1

    async def _work(self, batch: TaskBatch, depth: int) -> None:
        """Run every task, and then the batch, to its end."""
        with ErrorBoundary() as held:
            await self._repository.add(batch)
        if held.error is not None:
            self._give_up(batch, held.error)
            return
        batch.kept.set_result(None)
        await self._batch_runner.bring_to_end(batch, depth)
        self._forget_ended()

    async def _go_on(self, batch: TaskBatch) -> None:
        """Continue a batch started by another process."""
        await self._batch_runner.bring_to_end(batch, batch.parent.depth + 1)
        self._forget_ended()

    def _outlives(self, batch: TaskBatch) -> bool:
        """Return whether the next process continues it: if no waiter ends with this one."""
        waits_on = batch.background or batch.parent.outlives
        return self._continues and waits_on and batch.parent.depth == 0

    def _give_up(self, batch: TaskBatch, error: BaseException) -> None:
        """Drop a batch that was not started."""
        del self._live[batch.id]
        for task in batch.tasks:
            task.status = "error"
            task.ended.set()
        batch.kept.set_exception(error)

    async def _stop(self, tasks: Iterable[SubagentTask], status: TaskStatus) -> None:
        """Cancel tasks, and wait for their end."""
        stopping = [task for task in tasks if not task.is_over]
        for task in stopping:
            self._stop_task(task, status)
        for task in stopping:
            await task.ended.wait()

    def _stop_task(self, task: SubagentTask, status: TaskStatus) -> None:
        """Cancel a task permanently, even if the service crashes before its end."""
        task.stop(status)
        if task.is_left:
            self._batch_runner.leave_questions(task)
        if task.goes_on and not task.is_over:
            _, error = try_call(self._repository.save, task)
            if error is not None:
                log.error("cannot record that %s was stopped", task.id, exc_info=error)

    # -- lookup -----------------------------------------------------------------------

    def _of_session(self, session_id: str) -> list[TaskBatch]:
        return [batch for batch in self._live.values() if batch.parent.session.id == session_id]

    def _batch(self, id_: str, session_id: str | None) -> TaskBatch | None:
        """Return a batch of this process, by its ID or a task's."""
        batch = self._live.get(id_) or next(
            (b for b in self._live.values() if any(task.id == id_ for task in b.tasks)), None
        )
        if batch is None:
            return None
        if session_id not in (None, batch.parent.session.id):
            raise NotFound(f"Delegated task {id_!r} not found in this session", id=id_)
        return batch

    def _forget_ended(self) -> None:
        """Drop ended batches from memory; they are then read from the database and not
        deduplicated.
        """
        oldest = self._clock.monotonic() - self._settings.sub_agent.duplicate_window_s
        over = [
            batch.id
            for batch in self._live.values()
            if batch.finished_at is not None and batch.began <= oldest
        ]
        for batch_id in over:
            del self._live[batch_id]
