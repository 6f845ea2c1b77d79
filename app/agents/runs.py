"""Runs: one user message to its final answer, or one batch of direct calls.

A session has at most one active run. A run ends with exactly one `run_finished`, after
everything else of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import orjson

from app.agents.history import to_messages
from app.agents.loop import AgentLoop, Turns, usage_fields
from app.agents.models.protocol import Usage
from app.agents.recovery import Recovered, close_parked
from app.agents.resumption import Resumption, Work
from app.agents.run import (
    Queued,
    Run,
    direct_context,
    error_body,
    error_of,
    stopped,
    told_call,
)
from app.agents.sessions import Block, Session, Sessions
from app.core import process
from app.core.clock import isoformat
from app.core.contain import Contained, attempt
from app.core.errors import (
    Busy,
    InvalidInput,
    StorageUnavailable,
    TollgateError,
)
from app.core.ids import new_id
from app.db.statements import ADD_RUN, FINISH_RUN, PARK_RUN, QUEUE_RUN, START_QUEUED
from app.events.durable import RunFinished, RunStarted, RunStatus, Trigger
from app.execution.calls import CallRequest
from app.execution.context import CallContext, Caller
from app.execution.outcome import CallOutcome
from app.execution.setup import Gate
from app.governance.limits import NOBODY, Payer

log = logging.getLogger(__name__)

WhenBusy = Literal["reject", "queue", "steer"]
Execute = Callable[..., Awaitable[list[CallOutcome]]]
MAX_QUEUED = 100
CLOSE_S = 10.0


class RunEngine:
    """Starts, queues, steers and stops runs."""

    def __init__(
        self, gate: Gate, sessions: Sessions, loop: AgentLoop | None, archive: Any
    ) -> None:
        self._gate = gate
        self._sessions = sessions
        self._loop = loop
        self._archive = archive
        self._active: dict[str, Run] = {}
        self._queues: dict[str, deque[Queued]] = {}
        self._owner = process.identity()
        self._resumption = Resumption(gate, loop, archive)

    def active(self, session_id: str) -> Run | None:
        """The session's run that is under way."""
        return self._active.get(session_id)

    async def send_message(
        self,
        session: Session,
        content: list[Block],
        *,
        client_message_id: str | None = None,
        when_busy: WhenBusy = "reject",
        agent_id: str | None = None,
        payer: Payer = NOBODY,
        trigger: Trigger = "message",
        run_id: str | None = None,
        attended: bool = True,
    ) -> tuple[str, str]:
        """Add a user message and work on it; ids of the run and of the message.

        Args:
            agent_id: who answers, for this run; the session's agent when None.
            payer: whom the run is counted for.
            run_id: what the run is called, where somebody has decided that before.
            attended: somebody is, or may come to be, there to confirm what asks.

        Raises:
            NotFound: there is no such agent.
            InvalidInput: the run that would be steered is another agent's.
            Busy: a run is active, and `when_busy` says to refuse.
            StorageUnavailable: the database cannot be written at the moment; nothing was begun.
        """
        self._require_storage()
        answering = agent_id or session.agent_id
        if answering is not None:
            self._gate.agents.require(answering)
        active = self._active.get(session.id)
        if active is not None and when_busy == "steer" and active.turns is not None:
            if answering != active.agent_id:
                raise InvalidInput(
                    "A message cannot steer another agent's run; name that agent",
                    field="agent_id",
                )
            message_id = self._user_entry(session, content, active.id, client_message_id)
            active.turns.steering.append((message_id, content))
            return active.id, message_id
        if active is not None and when_busy == "reject":
            raise Busy(
                "A run is active in this session; wait, cancel it, or queue", run_id=active.id
            )
        run = self._new_run(session, trigger, answering, run_id=run_id)
        run.payer, run.attended = payer, attended
        if active is not None:
            return run.id, self._enqueue(run, content, client_message_id)
        # Claimed before the first await: two messages must not both find the session free.
        self._active[session.id] = run
        with self._starting(run):
            self._announce(run)
            message_id = self._user_entry(session, content, run.id, client_message_id)
        self._begin(run, partial(self._converse, run))
        return run.id, message_id

    def _enqueue(self, run: Run, content: list[Block], client_message_id: str | None) -> str:
        """Let a message wait for the run before it; its id."""
        session = run.session
        queue = self._queues.setdefault(session.id, deque())
        if len(queue) >= MAX_QUEUED:
            active = self._active[session.id]
            raise Busy(f"{MAX_QUEUED} messages are waiting in this session", run_id=active.id)
        waiting = Queued(run, new_id("msg"), content, client_message_id)
        self._gate.ledger.append(QUEUE_RUN, (*self._row(run, "queued"), waiting.stored()))
        queue.append(waiting)
        return waiting.message_id

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
        payer: Payer = NOBODY,
    ) -> Run:
        """Start a run that makes exactly these calls.

        Raises:
            Busy: a run is active in the session.
            StorageUnavailable: as `send_message`.
        """
        self._require_storage()
        active = self._active.get(session.id)
        if active is not None:
            raise Busy("A run is active in this session; wait or cancel it", run_id=active.id)
        run = self._new_run(session, trigger)
        run.payer = payer
        context = direct_context(
            run, self._gate.projects, caller=caller, attended=attended, cacheable=cacheable
        )
        self._active[session.id] = run
        with self._starting(run):
            self._announce(run)
        self._begin(run, partial(self._call, run, list(requests), context, max_workers))
        return run

    async def cancel(self, session_id: str, run_id: str) -> bool:
        """Stop a run; False when it is over, or when the session has no such run."""
        active = self._active.get(session_id)
        if active is not None and active.id == run_id:
            self._stop(active)
            return True
        queue = self._queues.get(session_id, deque())
        for item in queue:
            if item.run.id == run_id:
                queue.remove(item)
                self._announce(item.run, queued=True)
                self._finish(item.run, "cancelled", None)
                return True
        return False

    async def cancel_paid_by(self, token_id: str) -> None:
        """Stop every run that a token started, those that wait too."""
        queued = [item.run for queue in self._queues.values() for item in queue]
        for run in [*self._active.values(), *queued]:
            if run.payer.token_id == token_id:
                await self.cancel(run.session.id, run.id)

    async def close(self) -> None:
        """Stop everything: runs are recorded as interrupted.

        A run in which a person is asked is not over: whoever starts next goes on with it.
        """
        runs = list(self._active.values())
        waiting = [item for queue in self._queues.values() for item in queue]
        self._queues.clear()
        parked = set()
        for run in runs:
            run.interrupted = True
            if self._gate.parking.park(run.id):
                parked.add(run.session.id)
                self._gate.ledger.append(PARK_RUN, (run.id,))
            self._stop(run)
        if runs:
            await asyncio.wait([run.done for run in runs], timeout=CLOSE_S)
        for run in runs:
            if not run.done.done():
                log.error("run %s does not end; it is recorded as interrupted", run.id)
                self._finish(run, "interrupted", None)
        for item in waiting:
            if item.run.session.id in parked:
                self._gate.ledger.append(PARK_RUN, (item.run.id,))
                continue
            # Accepted, and so kept: the message stands in the session, unanswered.
            self._open_queued(item)
            self._finish(item.run, "interrupted", None)

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
        """Give the session free again when the run cannot be recorded."""
        try:
            yield
        except StorageUnavailable:
            run.session.log.holders.discard(run.id)
            del self._active[run.session.id]
            raise

    def _stop(self, run: Run) -> None:
        run.is_cancelled = True
        # A task that is cancelled before its first step never takes it, and so never ends well.
        if run.task is not None and run.is_begun:
            run.task.cancel()

    def _begin(self, run: Run, work: Work) -> None:
        run.task = asyncio.create_task(self._guard(run, work), name=run.id)

    def _model_of(self, run: Run) -> str | None:
        if run.trigger in ("direct", "rest"):
            return None
        profile = self._gate.agents.get(run.agent_id)
        return run.session.model or (profile and profile.model) or self._gate.settings.model

    def _row(self, run: Run, status: str) -> tuple[Any, ...]:
        session = run.session
        run.started_at = isoformat(self._gate.clock.now())
        return (
            run.id,
            session.id,
            run.trigger,
            status,
            run.agent_id,
            self._model_of(run),
            None,
            self._owner,
            run.started_at,
        )

    def _announce(self, run: Run, *, queued: bool = False) -> None:
        session = run.session
        row = self._row(run, "running")
        session.log.holders.add(run.id)
        if queued:
            self._gate.ledger.append(START_QUEUED, (run.started_at, run.id))
        else:
            self._gate.ledger.append(ADD_RUN, row)
        session.log.emit(
            RunStarted,
            run_id=run.id,
            agent_id=run.agent_id,
            trigger=run.trigger,
            model=self._model_of(run),
            tool_names=list(self._gate.resolver.resolve(run.agent_id).tool_names),
        )
        self._gate.metrics.gauge("runs_active", 1)

    async def _guard(self, run: Run, work: Work) -> None:
        """Run `work`; whatever happens, the run ends properly."""
        run.is_begun = True
        status: RunStatus = "error"
        held = Contained()
        try:
            with held:
                if run.is_cancelled:
                    status = stopped(run)
                else:
                    status = await work()
        except asyncio.CancelledError:
            status = stopped(run)
        if run.batch is not None:
            self._gate.executor.abandon(run.batch)
        self._finish(run, status, error_of(run.id, held.error))

    def _finish(self, run: Run, status: RunStatus, error: TollgateError | None) -> None:
        """Record the end, once, and let the session go on, also when it cannot be recorded."""
        if run.done.done():
            return
        session = run.session
        if status == "interrupted" and self._gate.parking.is_parked(run.id):
            self._let_go(run)
            return
        with Contained() as held:
            self._record_end(run, status, error)
        if held.error is not None:
            log.error("the end of run %s is not recorded", run.id, exc_info=held.error)
        session.log.holders.discard(run.id)
        self._gate.limits.store.run_ended(run.id)
        self._gate.metrics.gauge("runs_active", -1)
        self._gate.metrics.count("runs", status)
        run.done.set_result(status)
        if self._active.get(session.id) is run:
            del self._active[session.id]
            if run.turns and run.turns.steering and status not in ("cancelled", "interrupted"):
                self._follow_up(run, run.turns.steering)
            else:
                self._next(session)

    def _let_go(self, run: Run) -> None:
        """Leave a run to the next process: nothing of it is over."""
        run.session.log.holders.discard(run.id)
        self._gate.metrics.gauge("runs_active", -1)
        self._active.pop(run.session.id, None)
        run.done.set_result("interrupted")

    def _record_end(self, run: Run, status: RunStatus, error: TollgateError | None) -> None:
        session = run.session
        usage = usage_fields(run.turns.usage if run.turns else Usage())
        stop_reason = run.turns.stop_reason if run.turns else None
        body = None if error is None else error_body(error)
        row = (
            status,
            stop_reason,
            None if body is None else orjson.dumps(body).decode(),
            orjson.dumps(usage).decode(),
            isoformat(self._gate.clock.now()),
            run.id,
        )
        self._gate.ledger.append(FINISH_RUN, row)
        self._gate.grants.end_run(run.id)
        session.log.emit(
            RunFinished,
            run_id=run.id,
            agent_id=run.agent_id,
            status=status,
            stop_reason=stop_reason,
            error=body,
            usage=usage,
        )

    def _next(self, session: Session) -> None:
        """Start the next queued message."""
        queue = self._queues.get(session.id)
        if not queue:
            self._queues.pop(session.id, None)
            return
        item = queue.popleft()
        self._active[session.id] = item.run
        with self._starting(item.run):
            self._open_queued(item)
        self._begin(item.run, partial(self._converse, item.run))

    def _follow_up(self, ended: Run, unheard: list[tuple[str, list[Block]]]) -> None:
        """Answer what was said to a run that ended before it heard it."""
        session = ended.session
        run = self._new_run(session, "message", ended.agent_id)
        run.payer = ended.payer
        self._active[session.id] = run
        with self._starting(run):
            self._announce(run)
        self._begin(run, partial(self._converse, run, unheard))

    def _require_storage(self) -> None:
        error = self._gate.ledger.error
        if error is not None:
            raise error

    def _open_queued(self, item: Queued) -> None:
        """Announce the run of a message that waited, and add the message."""
        run = item.run
        self._announce(run, queued=True)
        self._sessions.append(
            run.session,
            "user",
            item.content,
            run_id=run.id,
            client_message_id=item.client_message_id,
            entry_id=item.message_id,
        )

    async def _converse(
        self, run: Run, unheard: Sequence[tuple[str, list[Block]]] = ()
    ) -> RunStatus:
        """Talk about everything in the branch; what was `unheard` comes last."""
        assert self._loop is not None
        await self._gate.ledger.durable()
        path = await self._archive.path(run.session.id, run.session.leaf)
        late = {message_id for message_id, _ in unheard}
        messages = to_messages(entry for entry in path if entry.id not in late)
        messages += [{"role": "user", "content": content} for _, content in unheard]
        run.turns = Turns(messages, run.agent_id, payer=run.payer, attended=run.attended)
        return await self._loop.run(run.session, run.id, run.turns)

    async def _call(
        self,
        run: Run,
        requests: list[CallRequest],
        context: CallContext,
        max_workers: int | None,
    ) -> RunStatus:
        session = run.session
        calls = [told_call(request, self._gate.redactor) for request in requests]
        self._sessions.append(session, "user", calls, run_id=run.id)
        executor = self._gate.executor
        execute = partial(executor.run, requests, context, max_workers=max_workers)
        return await self._answered(run, requests, execute)

    async def _answered(
        self, run: Run, requests: Sequence[CallRequest], execute: Execute
    ) -> RunStatus:
        """Make the calls of a direct run, and tell the session what they came to."""
        try:
            run.outcomes = await execute(finished=run.finished)
        finally:
            results = [
                {**outcome.tool_result_block(), "direct": True}
                for request in requests
                if (outcome := run.finished.get(request.id)) is not None
            ]
            if results and not self._gate.parking.is_parked(run.id):
                self._sessions.append(run.session, "tool", results, run_id=run.id)
        return "success"

    async def resume(self, recovered: Recovered) -> None:
        """Go on with runs in which a former process had asked a person.

        When this returns, every question that is still open can be answered.
        """
        for parked in recovered.parked:
            session = await self._sessions.get(parked.session_id)
            if session is None:
                continue
            run = self._new_run(session, parked.trigger, parked.agent_id)
            run.id, run.started_at = parked.id, parked.started_at
            work, error = attempt(self._resumption.work_of, run, parked.batch, self._answered)
            if work is None:
                log.error("run %s cannot go on", run.id, exc_info=error)
                self._gate.confirmations.forget(run.id)
                self._gate.waiting.forget(run.id)
                close_parked(self._gate, session.log, parked)
                continue
            self._active[session.id] = run
            session.log.holders.add(run.id)
            self._gate.metrics.gauge("runs_active", 1)
            self._begin(run, work)
        for item in recovered.waiting:
            session = await self._sessions.get(item.session_id)
            if session is None:
                continue
            message = dict(item.message)
            trigger = message.pop("trigger", "message")
            run = self._new_run(session, trigger, item.agent_id, run_id=item.run_id)
            run.attended = message.pop("attended", True)
            run.payer = Payer.from_json(message.pop("payer", {}))
            queue = self._queues.setdefault(session.id, deque())
            queue.append(Queued(run, **message))
