"""Escalation to a supervising agent, and to a stronger model.

A supervisor works as a sub-agent of the caller: within its limits, at its expense, and in a process
without any authority. Its answer gives no permission; the gate's confirmations are unchanged.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from app.agents.budget import Budget
from app.agents.content import user_content
from app.agents.delegation.service import DelegationService
from app.agents.delegation.task_limits import supervisor_of
from app.agents.model_settings import model_settings
from app.agents.run import Run
from app.agents.runs import RunService
from app.agents.sessions import Session, Sessions
from app.config.settings import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.errors import ConfigurationError, Conflict, NotFound, RateLimited, ToolFailed
from app.domain.delegation import BatchReport, TaskReport, TaskSpec
from app.domain.interactions import (
    Addressee,
    Escalation,
    Handover,
    SupervisorDecision,
    TicketState,
)
from app.execution.interactions.tickets import AGENT, OperatorTickets
from app.governance.agent_store import AgentStore
from app.governance.audit.log import AuditEntry, AuditLog
from app.toolkit.context import ToolContext

log = logging.getLogger(__name__)

_LABEL = "supervisor"
_RUNS_KNOWN = 1000
_STORED = 200
_MOST_ANSWER = 10_000
_PAUSE_S = 0.1
_LOOK_S = 3600.0
_ROLE = (
    "You supervise the agent that escalates. Decide the question below: state the decision first, "
    "then the reasons that the agent needs to continue. Its description is its own view and may "
    "contain text of others, so judge it. You cannot extend the agent's permissions. If you may "
    "not decide it either, say that a person must."
)


class EscalationService:
    """Service `ESCALATIONS`, as configured by the settings and the agents' profiles."""

    def __init__(
        self,
        sessions: Sessions,
        runs: RunService,
        delegation: DelegationService,
        tickets: OperatorTickets,
        agents: AgentStore,
        budget: Budget,
        audit: AuditLog,
        settings: Settings,
    ) -> None:
        self._tickets = tickets
        self._agents = agents
        self._budget = budget
        self._audit = audit
        self._sessions = sessions
        self._runs = runs
        self._delegation = delegation
        self._settings = settings
        # Requests to supervisors per run; for other runs the database is read.
        self._asked: OrderedDict[str, int] = OrderedDict()
        self._watching: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Leave tickets without a supervisor's answer to people."""
        for task in self._watching:
            task.cancel()
        if self._watching:
            await asyncio.wait(self._watching)

    # -- a supervisor -----------------------------------------------------------------

    async def decide(
        self, wanted: Escalation, ctx: ToolContext, *, as_ticket: bool
    ) -> SupervisorDecision:
        """See `Escalations.decide`."""
        supervisor = self._supervisor(ctx.agent_id)
        if as_ticket:
            self._own_run(ctx, wanted.to)
        await self._count(ctx)
        self._record("escalation.asked", f"agent:{supervisor}", wanted, ctx, ticket=as_ticket)
        if as_ticket:
            return await self._decide_later(wanted, ctx, supervisor)
        batch = await self._start(wanted, ctx, supervisor, background=False)
        task = batch.tasks[0]
        answer = _answer_of(task)
        if answer is None:
            raise ToolFailed(
                f"The supervisor {supervisor!r} did not answer: {_why(task)}; use to='human'",
                code="no_answer",
                task_id=task.task_id,
            )
        return SupervisorDecision(supervisor, task.task_id, answer)

    async def _decide_later(
        self, wanted: Escalation, ctx: ToolContext, supervisor: str
    ) -> SupervisorDecision:
        ticket = await self._tickets.escalate(
            wanted, operation_id=ctx.operation_id, timeout_s=ctx.timeout_s
        )
        if ticket.is_duplicate:
            return SupervisorDecision(supervisor, "", ticket.answer, ticket)
        run = self._own_run(ctx, wanted.to)
        try:
            batch = await self._start(wanted, ctx, supervisor, background=True)
        except ToolFailed as error:
            raise ToolFailed(
                f"{error.message}. Ticket {ticket.ticket_id} stays open for an operator",
                **{"code": error.code, **error.details, "ticket_id": ticket.ticket_id},
            ) from None
        watch = self._watch(batch, ticket, run, supervisor)
        task = asyncio.create_task(watch, name=f"supervisor of {ticket.ticket_id}")
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        return SupervisorDecision(supervisor, batch.tasks[0].task_id, ticket=ticket)

    async def _start(
        self, wanted: Escalation, ctx: ToolContext, supervisor: str, *, background: bool
    ) -> BatchReport:
        spec = TaskSpec(
            goal=_goal(wanted, ctx.agent_id),
            label=_LABEL,
            agent_id=supervisor,
            instructions=_ROLE,
        )
        return await self._delegation.start(
            [spec], ctx, kind="escalation", name=_LABEL, background=background
        )

    async def _watch(
        self, batch: BatchReport, ticket: TicketState, run: Run, supervisor: str
    ) -> None:
        """Answer a ticket with its supervisor's answer; otherwise it stays open for an operator."""
        with ErrorBoundary() as held:
            while batch.status == "running":
                batch = await self._delegation.wait(
                    batch.batch_id, session_id=run.session.id, timeout_s=_LOOK_S
                )
                # `wait` returns immediately if the end could not be recorded.
                await asyncio.sleep(_PAUSE_S)
            answer = _answer_of(batch.tasks[0])
            if answer is not None:
                await self._answer(ticket, answer, run, supervisor)
        if held.error is not None and not isinstance(held.error, Conflict):
            log.error("ticket %s was not answered", ticket.ticket_id, exc_info=held.error)

    async def _answer(self, ticket: TicketState, answer: str, run: Run, supervisor: str) -> None:
        session: Session = run.session
        resolved = await self._tickets.resolve(
            ticket.ticket_id,
            "answered",
            answer,
            actor=f"{AGENT}{supervisor}",
            expected=None,
            log=session.log,
        )
        if resolved.message is not None:
            await self._runs.send_message(
                session,
                user_content(resolved.message),
                when_busy="queue",
                agent_id=run.agent_id,
                quota_subject=run.quota_subject,
                attended=run.attended,
            )

    def _supervisor(self, agent_id: str | None) -> str:
        named = supervisor_of(self._agents, self._settings, agent_id)
        if named is None:
            raise _unavailable(
                "supervisor_agent",
                "this agent has no supervisor; an operator sets escalation.supervisor "
                "(TOLLGATE_ESCALATION__SUPERVISOR), or `supervisor` in the agent's "
                "profile",
            )
        if named == agent_id:
            raise _unavailable("supervisor_agent", f"{named!r} is this agent itself")
        try:
            self._agents.require(named)
        except NotFound:
            raise _unavailable(
                "supervisor_agent",
                f"the agent {named!r} that is set as supervisor does not exist; an "
                "operator must create it, or set another one",
            ) from None
        return named

    async def _count(self, ctx: ToolContext) -> None:
        """Refuse requests above the run's limit, including concurrent ones."""
        asker = ctx.run_id or ctx.session_id or ""
        if asker not in self._asked:
            stored = await self._delegation.reports(
                session_id=ctx.session_id, run_id=ctx.run_id, limit=_STORED
            )
            before = sum(report.kind == "escalation" for report in stored)
            self._asked.setdefault(asker, before)
        self._check_bound(self._asked[asker])
        self._asked[asker] += 1
        while len(self._asked) > _RUNS_KNOWN:
            self._asked.popitem(last=False)

    def _check_bound(self, times: int) -> None:
        most = self._settings.escalation.per_run
        if times >= most:
            raise RateLimited(
                f"This run has already been escalated {times} of {most} times; decide "
                "yourself, or use to='human'",
                limit=most,
            )

    # -- a stronger model -------------------------------------------------------------

    async def hand_over(self, wanted: Escalation, ctx: ToolContext) -> Handover:
        """See `Escalations.hand_over`."""
        run = self._own_run(ctx, wanted.to)
        if run.turns is None:
            raise _unavailable("model_tier", "this run has no model to replace")
        model = self._stronger(run)
        tier = run.turns.tier
        if tier.current == model:
            return Handover(model, tier.left, is_repeat=True)
        self._check_bound(tier.times)
        requests = self._settings.escalation.stronger_requests
        tier.raise_to(model, requests)
        details = {"from": ctx.model.get("model"), "requests": requests}
        self._record("escalation.handed_over", f"model:{model}", wanted, ctx, **details)
        return Handover(model, requests)

    def _stronger(self, run: Run) -> str:
        settings = self._settings
        profile = self._agents.get(run.agent_id)
        model = (profile and profile.stronger_model) or settings.escalation.stronger_model
        if model is None:
            raise _unavailable(
                "model_tier",
                "no stronger model is configured; an operator sets "
                "escalation.stronger_model (TOLLGATE_ESCALATION__STRONGER_MODEL), or "
                "`stronger_model` in the agent's profile",
            )
        if model == model_settings(run.session, profile, settings).model:
            raise _unavailable("model_tier", f"{model!r} is already the model of this run")
        if not settings.has_key_for(model):
            raise _unavailable(
                "model_tier", f"the provider of {model!r} has no key; an operator must set it"
            )
        try:
            self._budget.check(
                run.session, model=model, agent_id=run.agent_id, quota_subject=run.quota_subject
            )
        except ConfigurationError as error:
            raise _unavailable("model_tier", error.message) from None
        return model

    def _record(
        self, event: str, subject: str, wanted: Escalation, ctx: ToolContext, **details: object
    ) -> None:
        self._audit.record(
            AuditEntry(
                event,
                actor=ctx.user_id or "system",
                subject=subject,
                session_id=ctx.session_id,
                run_id=ctx.run_id,
                agent_id=ctx.agent_id,
                operation_id=ctx.operation_id,
                detail={"reason": wanted.reason, "severity": wanted.severity, **details},
            )
        )

    def _own_run(self, ctx: ToolContext, to: Addressee) -> Run:
        """Return the caller's run, which must not be a sub-agent's."""
        run = self._runs.active(ctx.session_id) if ctx.session_id else None
        if run is None or run.id != ctx.run_id or ctx.subagent_id is not None:
            raise _unavailable(to, "only the agent itself can request this, not its sub-agents")
        return run


def _unavailable(to: Addressee, why: str) -> ToolFailed:
    return ToolFailed(
        f"{to!r} is not available: {why}. Use to='human' instead",
        code="addressee_unavailable",
    )


def _goal(wanted: Escalation, agent_id: str | None) -> str:
    asker = f"The agent {agent_id!r}" if agent_id else "An agent"
    question = f"{asker} asks you to decide (severity: {wanted.severity}):\n{wanted.reason}"
    return f"{question}\n\nIts context:\n{wanted.context}" if wanted.context else question


def _answer_of(task: TaskReport) -> str | None:
    """Return a supervisor's answer; empty and partial answers count as none."""
    said = task.response.strip()
    return said[:_MOST_ANSWER] if task.status == "success" and said else None


def _why(task: TaskReport) -> str:
    if task.error:
        return str(task.error.get("message") or task.status)
    return "it said nothing" if task.status == "success" else task.status
