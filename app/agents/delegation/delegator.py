"""Starts sub-agents, keeps them within bounds, and knows what became of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from app.agents.delegation.book import INTERRUPTED, Book
from app.agents.delegation.conductor import Conductor
from app.agents.delegation.conversation import Conversation, answers_of
from app.agents.delegation.model import Batch, Parent, Task
from app.agents.delegation.ports import Place, Workers
from app.agents.delegation.seats import Seats
from app.agents.delegation.telling import tell_ended, tell_lost, tell_started
from app.agents.delegation.terms import TermsKeeper, check_batch, fingerprint_of
from app.agents.models.protocol import ModelClient
from app.agents.sessions import Sessions
from app.core import process
from app.core.clock import isoformat
from app.core.contain import Contained
from app.core.errors import InvalidInput, NotFound, TollgateError, ToolFailed
from app.core.ids import new_id
from app.core.settings import Settings
from app.execution.context import Project
from app.execution.setup import Gate
from app.governance.limits import Payer
from app.toolkit.context import ToolContext
from app.tools.delegation.ports import BatchKind, BatchReport, TaskSpec, TaskStatus

log = logging.getLogger(__name__)

Paying = Callable[[str, str | None], tuple[Payer, bool]]
"""Session and run → whom the run is counted for, and whether somebody is there to confirm."""

_MAX_BROADCAST = 20_000
_MAX_UNHEARD = 50


class Delegator:
    """The service `DELEGATION`."""

    def __init__(
        self,
        gate: Gate,
        sessions: Sessions,
        model: ModelClient,
        settings: Settings,
        *,
        workers: Workers,
        paying: Paying,
    ) -> None:
        self._gate = gate
        self._sessions = sessions
        self._model = model
        self._settings = settings
        self._workers = workers
        self._paying = paying
        self._book = Book(gate.ledger, gate.clock, gate.redactor)
        self._terms = TermsKeeper(gate, settings)
        self._live: dict[str, Batch] = {}
        self._owner = process.identity()
        self._stopped_as: TaskStatus = "cancelled"
        self._seats = Seats(self._terms, settings.sub_agent.processes)

    async def recover(self) -> None:
        """Close what processes that are gone have left."""
        for session_id, run_id, task in await self._book.close_lost():
            session = await self._sessions.get(session_id)
            if session is not None:
                tell_lost(self._gate, session.log, run_id, task)

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
        depth = self._terms.depth_of(parent)
        fingerprint = fingerprint_of(kind, name, specs, parent)
        twin = self._twin(parent, fingerprint)
        if twin is not None:
            if background and not twin.background:
                self._check_room(parent, len(specs), background=True)
                twin.background = True
            await self._follow(twin, background=background)
            return twin.report(duplicate=True)
        self._check_room(parent, len(specs), background=background)
        batch = Batch(
            id=new_id("dlg"),
            kind=kind,
            name=name,
            parent=parent,
            background=background,
            fingerprint=fingerprint,
            concurrency=self._concurrency(concurrency),
            tasks=[],
            created_at=isoformat(self._gate.clock.now()),
            began=self._gate.clock.monotonic(),
            kept=asyncio.get_running_loop().create_future(),
        )
        batch.tasks = [self._task(batch, place, spec) for place, spec in enumerate(specs)]
        # Known before the first await: the same batch must not be started twice.
        self._live[batch.id] = batch
        batch.work = asyncio.create_task(self._work(batch, depth), name=batch.id)
        await self._follow(batch, background=background)
        return batch.report()

    async def report(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        """See `Delegation.report`."""
        batch = self._batch(batch_or_task_id, session_id)
        if batch is None:
            return await self._book.report(batch_or_task_id, session_id=session_id)
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
        stored = await self._book.reports(
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
            await self._stop(batch.named(batch_or_task_id))
        return await self.report(batch_or_task_id, session_id=session_id)

    async def broadcast(
        self, text: str, *, session_id: str, batch_id: str | None = None
    ) -> list[str]:
        """See `Delegation.broadcast`."""
        if len(text) > _MAX_BROADCAST:
            raise InvalidInput(f"text has {len(text)} characters of {_MAX_BROADCAST}", field="text")
        if batch_id is not None and self._batch(batch_id, session_id) is None:
            await self._book.report(batch_id, session_id=session_id)
        told = []
        for batch in self._of_session(session_id):
            if batch_id not in (None, batch.id):
                continue
            for task in batch.tasks:
                if task.status == "running" and len(task.unheard) < _MAX_UNHEARD:
                    task.unheard.append(text)
                    told.append(task.id)
        return told

    def run_stopped(self, run_id: str) -> None:
        """Somebody has stopped a run: what it has left in the background is stopped with it."""
        for batch in self._live.values():
            if batch.parent.run_id == run_id:
                for task in batch.tasks:
                    task.stop(self._stopped_as)

    async def cancel_paid_by(self, token_id: str) -> None:
        """Stop everything that a token has started."""
        for batch in list(self._live.values()):
            if batch.parent.payer.token_id == token_id:
                await self._stop(batch.tasks)

    def closing(self) -> None:
        """The service is about to stop: what is stopped from now on was interrupted."""
        self._stopped_as = "interrupted"

    async def close(self) -> None:
        """The service stops: what is under way is recorded as interrupted."""
        self.closing()
        for batch in list(self._live.values()):
            await self._stop(batch.tasks)
            if batch.work is not None:
                await asyncio.wait({batch.work})

    # -- starting ---------------------------------------------------------------------

    async def _parent(self, ctx: ToolContext, *, background: bool) -> Parent:
        """Who asks, as far as it concerns delegation."""
        session = await self._sessions.get(ctx.session_id) if ctx.session_id else None
        if session is None:
            raise ToolFailed("Work can be delegated only from a session", code="session_required")
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
            payer=Payer(ctx.token_id, user_id=ctx.user_id),
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
                payer=batch.parent.payer,
                attended=batch.parent.attended,
                depth=batch.parent.depth + 1,
                scope=task.terms.scope,
                roots=task.terms.roots,
                max_depth=task.terms.max_depth,
            )
        payer, attended = self._paying(session.id, ctx.run_id)
        return replace(parent, payer=payer, attended=attended)

    def _task_of_run(self, run_id: str | None) -> tuple[Batch, Task] | None:
        for batch in self._live.values():
            for task in batch.tasks:
                if task.run_id == run_id:
                    return batch, task
        return None

    def _twin(self, parent: Parent, fingerprint: str) -> Batch | None:
        """The same batch, asked for a moment ago, unless it has failed since."""
        oldest = self._gate.clock.monotonic() - self._settings.sub_agent.duplicate_window_s
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
                f"{there} of {most} sub-agents of this session work in the background; wait for "
                "them, or cancel some",
                code="too_many_subagents",
                limit=most,
            )

    def _concurrency(self, wanted: int | None) -> int:
        most = self._settings.sub_agent.max_concurrency
        return max(1, min(wanted or most, most))

    def _task(self, batch: Batch, place: int, spec: TaskSpec) -> Task:
        field = f"tasks[{place}]"
        parent = batch.parent
        terms = self._terms.terms_of(spec, parent, batch.kind, field)
        self._project(parent, terms.roots)
        resolved = self._gate.resolver.resolve(terms.agent_id, subagent=terms.scope)
        if spec.tools and not resolved.tool_names:
            why = {name: resolved.disabled_reasons.get(name) for name in terms.scope.allowed or ()}
            told = "; ".join(reason.message for reason in why.values() if reason is not None)
            raise InvalidInput(f"It could use none of its tools: {told}", field=f"{field}.tools")
        return Task(
            id=new_id("tsk"),
            batch_id=batch.id,
            run_id=new_id("run"),
            position=place,
            spec=spec,
            terms=terms,
            routes=dict(resolved.routes),
            blocked={name: why.to_dict() for name, why in resolved.disabled_reasons.items()},
        )

    def _project(self, parent: Parent, roots: tuple[str, ...]) -> Project | None:
        """The workspace as the sub-agent sees it.

        Raises:
            InvalidInput: a folder does not exist.
        """
        if parent.project_id is None:
            if roots:
                raise InvalidInput(
                    "workspace_roots need a session with a project", field="workspace_roots"
                )
            return None
        if not roots:
            return self._gate.projects.get(parent.project_id)
        return self._gate.projects.narrowed(parent.project_id, roots)

    # -- working ----------------------------------------------------------------------

    async def _follow(self, batch: Batch, *, background: bool) -> None:
        """Wait for a batch, or only until it is kept; the last one to stop waiting stops it.

        Raises:
            StorageUnavailable: it could not be kept, and so was not begun.
        """
        assert batch.work is not None
        batch.followers += 1
        try:
            await asyncio.shield(batch.kept)
            if not background:
                await asyncio.shield(batch.work)
        except asyncio.CancelledError:
            goes_on = batch.background and batch.kept.done()
            if batch.followers == 1 and not goes_on:
                await self._stop(batch.tasks)
            raise
        finally:
            batch.followers -= 1

    async def _work(self, batch: Batch, depth: int) -> None:
        """Bring every task to its end, and the batch with them."""
        with Contained() as held:
            await self._book.add(batch)
        if held.error is not None:
            self._give_up(batch, held.error)
            return
        batch.kept.set_result(None)
        slots = asyncio.Semaphore(batch.concurrency)
        await asyncio.wait(
            [
                asyncio.create_task(self._bring_to_end(batch, task, slots, depth), name=task.id)
                for task in batch.tasks
            ]
        )
        batch.finished_at = isoformat(self._gate.clock.now())
        with Contained() as held:
            await self._book.end(batch)
        if held.error is not None:
            log.error("the end of %s is not recorded", batch.id, exc_info=held.error)
        self._gate.metrics.count("delegations", batch.report().status)
        counted = batch.parent.counted_run
        if counted is not None and counted not in batch.parent.session.log.holders:
            self._gate.limits.store.run_ended(counted)  # the run itself was over before
        self._forget_ended()

    def _give_up(self, batch: Batch, error: BaseException) -> None:
        """Nothing of it has begun, and nobody finds it."""
        del self._live[batch.id]
        for task in batch.tasks:
            task.status = "error"
            task.ended.set()
        batch.kept.set_exception(error)

    async def _bring_to_end(
        self, batch: Batch, task: Task, slots: asyncio.Semaphore, depth: int
    ) -> None:
        """Whatever happens, the task ends, and says how."""
        status: TaskStatus = "error"
        # Known from here on: who cancels what has not begun would cancel its end as well.
        task.work = asyncio.current_task()
        with Contained() as held:
            try:
                if task.stopped_as is None:
                    status = await self._attempt(batch, task, slots, depth)
                else:
                    status = task.stopped_as
            except asyncio.CancelledError:
                status = task.stopped_as or "cancelled"
            except TimeoutError:
                status = "timeout"
                seconds = task.terms.timeout_s
                task.error = _error("timeout", f"The task did not end within {seconds:g} s")
        if held.error is not None:
            task.error = self._told(task, held.error)
        await self._end(batch, task, status)

    async def _attempt(
        self, batch: Batch, task: Task, slots: asyncio.Semaphore, depth: int
    ) -> TaskStatus:
        for label in task.spec.after:
            other = batch.labelled(label)
            await other.ended.wait()
            if other.status != "success":
                message = f"{label!r}, which it builds on, has not succeeded ({other.status})"
                task.error = _error("dependency_failed", message)
                return "skipped"
        async with slots, self._seats.of(task, depth):
            return await self._run(batch, task)

    async def _run(self, batch: Batch, task: Task) -> TaskStatus:
        parent, terms = batch.parent, task.terms
        project = self._project(parent, terms.roots)
        place = Place() if project is None else Place(project.root, terms.roots)
        async with self._workers.take(place) as worker, asyncio.timeout(terms.timeout_s):
            task.worker_pid = worker.pid
            task.started_at = isoformat(self._gate.clock.now())
            task.status = "running"
            tell_started(self._gate, task, parent, self._owner)
            await self._book.save(task)
            conversation = Conversation(
                *(self._gate, self._model, self._settings),
                task=task,
                parent=parent,
                project=project,
                given=answers_of(batch.labelled(label) for label in task.spec.after),
            )
            conductor = Conductor(
                self._gate,
                task,
                parent,
                worker=worker,
                project=project,
                conversation=conversation,
                save=self._book.save,
            )
            return "success" if await conductor.run() else "max_rounds"

    def _told(self, task: Task, error: BaseException) -> dict[str, Any]:
        """What may be seen of what ended a task."""
        if isinstance(error, TollgateError):
            return _error(str(error.details.get("code", error.code)), error.message)
        error_id = new_id("err")
        log.error("task %s failed unexpectedly (%s)", task.id, error_id, exc_info=error)
        return _error("internal", f"Internal error {error_id}")

    async def _end(self, batch: Batch, task: Task, status: TaskStatus) -> None:
        """Record the end, once, also when it cannot be recorded."""
        task.finished_at = isoformat(self._gate.clock.now())
        task.status = status
        if status == "interrupted":
            task.error = dict(INTERRUPTED)
        with Contained() as held:
            if task.started_at is not None:
                tell_ended(self._gate, task, batch.parent)
            await self._book.save(task)
        if held.error is not None:
            log.error("the end of task %s is not recorded", task.id, exc_info=held.error)
        task.ended.set()
        if status not in ("success", "max_rounds"):
            # Nobody is left for whom its own would work on in the background.
            self.run_stopped(task.run_id)

    async def _stop(self, tasks: Iterable[Task]) -> None:
        """Cancel tasks, and wait until they have ended."""
        stopping = [task for task in tasks if not task.is_over]
        for task in stopping:
            task.stop(self._stopped_as)
        for task in stopping:
            await task.ended.wait()

    # -- looking up -------------------------------------------------------------------

    def _of_session(self, session_id: str) -> list[Batch]:
        return [batch for batch in self._live.values() if batch.parent.session.id == session_id]

    def _batch(self, id_: str, session_id: str | None) -> Batch | None:
        """A batch of this process, by its id or a task's."""
        batch = self._live.get(id_) or next(
            (b for b in self._live.values() if any(task.id == id_ for task in b.tasks)), None
        )
        if batch is None:
            return None
        if session_id not in (None, batch.parent.session.id):
            raise NotFound(f"There is no delegated work {id_!r} here", id=id_)
        return batch

    def _forget_ended(self) -> None:
        """What has ended is looked up in the database; twins of it are asked for no more."""
        oldest = self._gate.clock.monotonic() - self._settings.sub_agent.duplicate_window_s
        over = [
            batch.id
            for batch in self._live.values()
            if batch.finished_at is not None and batch.began <= oldest
        ]
        for batch_id in over:
            del self._live[batch_id]


def _error(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}
