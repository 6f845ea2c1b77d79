"""Composition of delegation and escalation, registered for their tools while a service runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from app.agents.delegation.batch_runner import BatchRunner
from app.agents.delegation.events import TaskEvents
from app.agents.delegation.model import Standing
from app.agents.delegation.ports import Workers
from app.agents.delegation.recovery import DelegationRecovery
from app.agents.delegation.repository import DelegationRepository
from app.agents.delegation.service import DelegationService, StandingOf
from app.agents.delegation.task_calls import TaskCalls
from app.agents.delegation.task_limits import TaskLimitResolver
from app.agents.delegation.task_model import TaskModel
from app.agents.escalation import EscalationService
from app.agents.models.protocol import ModelClient
from app.agents.recovery import FoundRun
from app.agents.runs import RunService, is_revoked
from app.agents.sessions import Sessions
from app.bootstrap.agents import AgentParts
from app.bootstrap.container import Runtime
from app.domain.delegation import DELEGATION
from app.domain.interactions import ESCALATIONS
from app.governance.identity.tokens import Tokens
from app.governance.limits import NOBODY


def compose_delegation(
    runtime: Runtime,
    parts: AgentParts,
    sessions: Sessions,
    model: ModelClient,
    workers: Workers,
    standing_of: StandingOf,
) -> tuple[DelegationService, DelegationRecovery]:
    """Return the delegation service, and the recovery of what ended processes left."""
    settings, clock, redactor = runtime.settings, runtime.clock, runtime.redactor
    repository = DelegationRepository(runtime.db, clock, redactor, runtime.deferred)
    limits = TaskLimitResolver(
        *(runtime.agents, runtime.resolver, runtime.registry, runtime.projects, settings)
    )
    events = TaskEvents(
        *(runtime.db, redactor, runtime.deferred, runtime.limits.store, runtime.grants),
        metrics=runtime.metrics,
        closer=parts.closer,
    )
    calls = TaskCalls(runtime.executor, runtime.suspension, redactor)
    task_model = TaskModel(
        *(model, parts.budget, sessions, runtime.resolver, runtime.deferred),
        skills=runtime.skills,
        artifacts=runtime.artifacts,
    )
    runner = BatchRunner(workers, limits, repository, events, calls, task_model, clock, settings)
    service = DelegationService(
        *(sessions, repository, limits, runner, clock, settings, standing_of),
        continues=parts.restart_policy.continues,
    )
    recovery = DelegationRecovery(
        *(sessions, runtime.agents, limits, repository, events, calls, clock)
    )
    return service, recovery


@asynccontextmanager
async def delegating(
    runtime: Runtime,
    parts: AgentParts,
    sessions: Sessions,
    runs: RunService,
    model: ModelClient,
    workers: Workers,
    *,
    tokens: Tokens,
    left: Iterable[FoundRun],
) -> AsyncIterator[DelegationService]:
    """Provide sub-agents for the runs of a service. Call `closing` before its runs are stopped.

    Args:
        left: runs of sub-agents left by a previous process that may continue.
    """

    def standing_of(session_id: str, run_id: str | None) -> Standing:
        run = runs.active(session_id)
        if run is None or run.id != run_id:
            return Standing(NOBODY, attended=False, outlives=False)
        outlives = parts.restart_policy.leaves(run)
        return Standing(run.quota_subject, run.attended, outlives=outlives)

    delegation, recovery = compose_delegation(runtime, parts, sessions, model, workers, standing_of)
    runs.on_cancel = delegation.run_cancelled
    runtime.services.register(DELEGATION, delegation)
    runtime.resolver.forget()
    try:
        await delegation.recover(recovery, left, partial(is_revoked, tokens=tokens))
        yield delegation
    finally:
        await delegation.close()


@asynccontextmanager
async def escalating(
    runtime: Runtime,
    parts: AgentParts,
    sessions: Sessions,
    runs: RunService,
    delegation: DelegationService,
) -> AsyncIterator[None]:
    """Let `escalate` find supervisors and stronger models while the service runs."""
    escalations = EscalationService(
        *(sessions, runs, delegation, runtime.tickets, runtime.agents, parts.budget),
        audit=runtime.audit,
        settings=runtime.settings,
    )
    runtime.services.register(ESCALATIONS, escalations)
    try:
        yield
    finally:
        await escalations.close()
