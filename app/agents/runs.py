"""Runs: one user message with its final answer, or one batch of direct calls.

A session has at most one active run. A run ends with exactly one `run_finished`, its last event.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal

from app.agents.message_queue import Queues
from app.agents.model_settings import AgentSettings
from app.agents.recovery import (
    CutRun,
    FoundRun,
    Recovered,
    SuspendedRun,
    WaitingMessage,
)
from app.agents.restart_policy import CLOSING, RestartPolicy
from app.agents.run import (
    Queued,
    Run,
    error_of,
    last_word,
    require_alike,
    revoked,
    stopped,
)
from app.agents.run_repository import RunRepository
from app.agents.run_work import RunWork, Work
from app.agents.sessions import Block, Session, Sessions
from app.core.error_boundary import ErrorBoundary, try_call
from app.core.errors import Busy, StorageUnavailable, TollgateError
from app.core.ids import new_id
from app.events.durable import RunStatus, Trigger
from app.execution.calls import CallRequest
from app.execution.conditions import HealthMonitor
from app.execution.context import Caller
from app.execution.suspension import RunSuspension
from app.governance.limits import NOBODY, QuotaSubject

if TYPE_CHECKING:
    from app.governance.identity.tokens import Tokens

log = logging.getLogger(__name__)

WhenBusy = Literal["reject", "queue", "steer"]
CLOSE_S = 10.0


class RunService:
    """Starts, queues, steers and stops runs."""

    def __init__(
        self,
        sessions: Sessions,
        records: RunRepository,
        work: RunWork,
        agents: AgentSettings,
        suspension: RunSuspension,
        conditions: HealthMonitor,
        restart_policy: RestartPolicy = CLOSING,
    ) -> None:
        self._sessions = sessions
        self._records = records
        self._work = work
        self._agents = agents
        self._suspension = suspension
        self._conditions = conditions
        self._active: dict[str, Run] = {}
        # Called when an active run is stopped.
        self.on_cancel: Callable[[str], None] = lambda _: None
        self._queues = Queues()
        self._restart_policy = restart_policy

    def active(self, session_id: str) -> Run | None:
        """Return the session's active run."""
        return self._active.get(session_id)

    async def send_message(
        self,
        session: Session,
        content: list[Block],
        *,
        client_message_id: str | None = None,
        when_busy: WhenBusy = "reject",
        agent_id: str | None = None,
        quota_subject: QuotaSubject = NOBODY,
        trigger: Trigger = "message",
        run_id: str | None = None,
        attended: bool = True,
        tools_enabled: bool = True,
    ) -> tuple[str, str]:
        """Add a user message and answer it; return the IDs of run and message.

        Args:
            agent_id: agent of this run; the session's agent if None.
            quota_subject: subject that the run is counted for.
            run_id: predetermined ID of the run.
            attended: a client can, or may later, answer confirmations.
            tools_enabled: whether the model may call tools.

        Raises:
            NotFound: the agent does not exist.
            InvalidInput: the run to steer belongs to another agent, or has another setting of
                tools.
            Busy: a run is active, and `when_busy` is to refuse.
            StorageUnavailable: the database is currently not writable; nothing was started.
        """
        self._require_storage()
        answering = agent_id or session.agent_id
        if answering is not None:
            self._agents.require(answering)
        active = self._active.get(session.id)
        if active is not None and when_busy == "steer" and active.turns is not None:
            require_alike(active, answering, tools_enabled=tools_enabled)
            message_id = self._user_entry(session, content, active.id, client_message_id)
            active.turns.steering.append((message_id, content))
            return active.id, message_id
        if active is not None and when_busy == "reject":
            raise Busy(
                "A run is active in this session; wait for it, cancel it, or queue the message",
                run_id=active.id,
            )
        run = self._new_run(session, trigger, answering, run_id=run_id)
        run.quota_subject, run.attended, run.tools_enabled = quota_subject, attended, tools_enabled
        if active is not None:
            return run.id, self._enqueue(run, content, client_message_id)
        # Claimed before the first await: two messages must not both find the session free.
        self._active[session.id] = run
        with self._starting(run):
            self._records.started(run)
            message_id = self._user_entry(session, content, run.id, client_message_id)
        self._begin(run, partial(self._work.converse, run))
        return run.id, message_id

    def _enqueue(self, run: Run, content: list[Block], client_message_id: str | None) -> str:
        """Queue a message for the next run; return its ID."""
        self._queues.require_room(run.session.id, self._active[run.session.id].id)
        place = self._queues.place()
        item = Queued(run, new_id("msg"), content, client_message_id, place)
        self._records.queued(item)
        self._queues.add(item)
        return item.message_id

    async def call_tools(
        self,
        session: Session,
        requests: Sequence[CallRequest],
        *,
        caller: Caller,
        trigger: Trigger = "direct",
        attended: bool = True,
        cacheable: bool = True,
        max_workers: int | None = None,
        quota_subject: QuotaSubject = NOBODY,
    ) -> Run:
        """Start a run of exactly these calls.

        Raises:
            Busy: a run is active in the session.
            StorageUnavailable: see `send_message`.
        """
        self._require_storage()
        active = self._active.get(session.id)
        if active is not None:
            raise Busy(
                "A run is active in this session; wait for it or cancel it", run_id=active.id
            )
        run = self._new_run(session, trigger)
        run.quota_subject, run.attended = quota_subject, attended
        context = self._work.direct.context(
            run, caller=caller, attended=attended, cacheable=cacheable
        )
        self._active[session.id] = run
        with self._starting(run):
            self._records.started(run)
        self._begin(run, partial(self._work.direct.run, run, list(requests), context, max_workers))
        return run

    async def cancel(self, session_id: str, run_id: str) -> bool:
        """Stop a run; False if it is over, or not in the session."""
        active = self._active.get(session_id)
        if active is not None and active.id == run_id:
            self._restart_policy.forget(active)
            self._stop(active)
            self.on_cancel(run_id)
            return True
        item = self._queues.remove(session_id, run_id)
        if item is None:
            return False
        self._records.started(item.run, was_queued=True)
        self._finish(item.run, "cancelled", None)
        return True

    async def cancel_by_token(self, token_id: str) -> None:
        """Stop every run started with a token, including waiting ones."""
        queued = [item.run for item in self._queues.all()]
        for run in [*self._active.values(), *queued]:
            if run.quota_subject.token_id == token_id:
                await self.cancel(run.session.id, run.id)

    async def close(self) -> None:
        """Stop all runs: leave them to the next process, or record them as interrupted.

        A run with an open confirmation is always left.
        """
        runs, waiting = list(self._active.values()), self._queues.clear()
        left = {run.session.id for run in runs if self._leave(run)}
        for run in runs:
            self._stop(run)
        if runs:
            await asyncio.wait([run.done for run in runs], timeout=CLOSE_S)
        for run in runs:
            if not run.done.done():
                log.error("run %s does not stop; giving up on it", run.id)
                self._finish(run, "interrupted", None)
        for item in waiting:
            if self._restart_policy.continues or item.run.session.id in left:
                self._records.left_waiting(item)
                continue
            # The message was acknowledged, so it stays in the session, unanswered.
            self._open_queued(item)
            self._finish(item.run, "interrupted", None)

    def _leave(self, run: Run) -> bool:
        """Return whether the next process continues the run, before it is stopped."""
        run.interrupted = True
        run.is_left = self._restart_policy.leaves(run)
        if run.turns is not None:
            run.turns.is_left = run.is_left
        is_suspended = self._suspension.suspend(run.id)
        return is_suspended or run.is_left

    def _new_run(
        self,
        session: Session,
        trigger: Trigger,
        agent_id: str | None = None,
        *,
        run_id: str | None = None,
    ) -> Run:
        done: asyncio.Future[RunStatus] = asyncio.get_running_loop().create_future()
        run = Run(run_id or new_id("run"), session, trigger, done)
        run.agent_id = agent_id or session.agent_id
        return run

    def _user_entry(
        self, session: Session, content: list[Block], run_id: str, client_message_id: str | None
    ) -> str:
        return self._sessions.append(
            session, "user", content, run_id=run_id, client_message_id=client_message_id
        )

    @contextmanager
    def _starting(self, run: Run) -> Iterator[None]:
        """Free the session if the run cannot be recorded."""
        try:
            yield
        except StorageUnavailable:
            run.session.log.holders.discard(run.id)
            del self._active[run.session.id]
            raise

    def _stop(self, run: Run) -> None:
        run.is_cancelled = True
        # A task cancelled before its first step never runs its own cleanup.
        if run.task is not None and run.is_begun:
            run.task.cancel()

    def _begin(self, run: Run, work: Work) -> None:
        run.task = asyncio.create_task(self._guard(run, work), name=run.id)

    async def _guard(self, run: Run, work: Work) -> None:
        """Run `work`; record the end of the run in any case."""
        run.is_begun = True
        status: RunStatus = "error"
        held = ErrorBoundary()
        try:
            with held:
                if run.is_cancelled:
                    status = stopped(run)
                else:
                    status = await work()
        except asyncio.CancelledError:
            status = stopped(run)
        self._work.abandon(run)
        self._finish(run, status, error_of(run.id, held.error))

    def _finish(self, run: Run, status: RunStatus, error: TollgateError | None) -> None:
        """Record the end once, and release the session even if that fails."""
        if run.done.done():
            return
        session = run.session
        if status == "interrupted" and (run.is_left or self._suspension.is_suspended(run.id)):
            # The run has not ended: another process may continue it from here on.
            self._records.left(run)
            self._active.pop(session.id, None)
            run.done.set_result("interrupted")
            return
        self._records.ended(run, status, error)
        run.done.set_result(status)
        if self._active.get(session.id) is run:
            del self._active[session.id]
            if run.turns and run.turns.steering and status not in ("cancelled", "interrupted"):
                self._follow_up(run, tuple(said[0] for said in run.turns.steering))
            else:
                self._next(session)

    def _next(self, session: Session) -> None:
        """Start the next queued message."""
        item = self._queues.take(session.id)
        if item is None:
            return
        self._active[session.id] = item.run
        with self._starting(item.run):
            self._open_queued(item)
        self._begin(item.run, partial(self._work.converse, item.run))

    def _follow_up(self, ended: Run, unheard: tuple[str, ...]) -> None:
        """Answer messages that a run had not seen when it ended."""
        session = ended.session
        run = self._new_run(session, "message", ended.agent_id)
        run.quota_subject = ended.quota_subject
        run.unheard, run.tools_enabled = unheard, ended.tools_enabled
        self._active[session.id] = run
        with self._starting(run):
            self._records.started(run)
        self._begin(run, partial(self._work.converse, run))

    def _require_storage(self) -> None:
        error = self._conditions.refusal(changes=True)
        if error is not None:
            raise error

    def _open_queued(self, item: Queued) -> None:
        """Announce the run of a waiting message, and add the message."""
        run = item.run
        self._records.started(run, was_queued=True)
        self._sessions.append(
            run.session,
            "user",
            item.content,
            run_id=run.id,
            client_message_id=item.client_message_id,
            entry_id=item.message_id,
        )

    async def resume(self, recovered: Recovered, tokens: Tokens) -> None:
        """Continue the work of previous processes.

        When this returns, every open confirmation can be answered.
        """
        for suspended in recovered.suspended:
            await self._resume_parked(suspended, tokens)
        for cut in recovered.cut:
            await self._resume_cut(cut, tokens)
        for item in recovered.waiting:
            await self._wait_again(item, tokens)
        for item in recovered.waiting:
            session = await self._sessions.get(item.session_id)
            if session is not None and session.id not in self._active:
                self._next(session)

    async def _resume_parked(self, suspended: SuspendedRun, tokens: Tokens) -> None:
        session = await self._sessions.get(suspended.session_id)
        if session is None:
            return
        if await is_revoked(suspended.batch.quota_subject.token_id, tokens):
            self._close_found(session, suspended, revoked())
            return
        run = self._found(session, suspended)
        work, error = try_call(self._work.rest_of, run, suspended.batch)
        if work is None:
            log.error("run %s cannot continue", run.id, exc_info=error)
            self._suspension.forget(run.id)
            self._close_found(session, suspended)
            return
        self._take_up(run, work)

    async def _resume_cut(self, cut: CutRun, tokens: Tokens) -> None:
        session = await self._sessions.get(cut.session_id)
        if session is None:
            return
        if await is_revoked(cut.progress.quota_subject.token_id, tokens):
            self._close_found(session, cut, revoked())
            return
        run = self._found(session, cut)
        _, error = try_call(self._work.cut_off, run, cut)
        if error is not None:
            log.error("run %s cannot continue", run.id, exc_info=error)
            self._close_found(session, cut)
            return
        said = cut.turn.is_answered and not run.unheard
        work = partial(last_word, cut.progress) if said else partial(self._work.converse, run)
        self._take_up(run, work)

    def _close_found(
        self, session: Session, found: SuspendedRun | CutRun, error: TollgateError | None = None
    ) -> None:
        """Close a run that does not continue, with its delegated tasks."""
        self._work.closer.close_run(
            session.log, found.id, found.trail, usage=found.usage, error=error
        )
        self.on_cancel(found.id)

    async def _wait_again(self, item: WaitingMessage, tokens: Tokens) -> None:
        session = await self._sessions.get(item.session_id)
        if session is None:
            return
        message = dict(item.message)
        trigger = message.pop("trigger", "message")
        run = self._new_run(session, trigger, item.agent_id, run_id=item.run_id)
        run.attended = message.pop("attended", True)
        run.tools_enabled = message.pop("tools_enabled", True)
        run.quota_subject = QuotaSubject.from_json(message.pop("payer", {}))
        queued, error = try_call(partial(Queued, run, **message))
        if queued is None:
            log.error("cannot read the message of run %s", run.id, exc_info=error)
            self._records.started(run, was_queued=True)
            self._finish(run, "interrupted", None)
            return
        self._queues.add(queued)
        if await is_revoked(run.quota_subject.token_id, tokens):
            await self.cancel(session.id, run.id)

    def _found(self, session: Session, left: FoundRun) -> Run:
        run = self._new_run(session, left.trigger, left.agent_id, run_id=left.id)
        run.started_at = left.started_at
        return run

    def _take_up(self, run: Run, work: Work) -> None:
        self._active[run.session.id] = run
        self._records.taken_up(run)
        self._begin(run, work)


async def is_revoked(token_id: str | None, tokens: Tokens) -> bool:
    """Return whether a run must stop because its token was revoked."""
    return token_id is not None and await tokens.standing(token_id) == "revoked"
