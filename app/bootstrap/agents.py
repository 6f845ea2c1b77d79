"""Composition of sessions' runs: the agent loop, its budget and prompt, and the run service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.agents.budget import Budget
from app.agents.cleanup import OrphanCloser
from app.agents.direct_calls import DirectCalls
from app.agents.loop import AgentLoop
from app.agents.model_settings import AgentSettings
from app.agents.model_turn import ModelTurn
from app.agents.models.protocol import ModelClient
from app.agents.prompt.facts import FactFinder
from app.agents.recovery import RunRecovery
from app.agents.restart_policy import CLOSING, RestartPolicy, ResumeOnRestart
from app.agents.run_repository import RunRepository
from app.agents.run_work import RunWork
from app.agents.runs import RunService
from app.agents.sessions import Sessions
from app.agents.tool_model import ModelForTools
from app.agents.turn_input import TurnInputBuilder
from app.bootstrap.container import Runtime
from app.toolkit.ports import LLM_CLIENT


@dataclass(frozen=True, slots=True)
class AgentParts:
    """Parts that the services of agents share."""

    settings: AgentSettings
    budget: Budget
    closer: OrphanCloser
    restart_policy: RestartPolicy


def agent_parts(runtime: Runtime, restart_policy: RestartPolicy | None = None) -> AgentParts:
    """Return the shared parts; the restart policy is that of the settings if None."""
    settings = runtime.settings
    if restart_policy is None:
        restart_policy = CLOSING
        if settings.durable_runs == "continue":
            restart_policy = ResumeOnRestart(runtime.db, runtime.deferred)
    return AgentParts(
        AgentSettings(runtime.agents, settings),
        budget_of(runtime),
        OrphanCloser(runtime.db, runtime.clock, runtime.audit),
        restart_policy,
    )


def budget_of(runtime: Runtime) -> Budget:
    """Return the budget of sessions."""
    settings = runtime.settings
    return Budget(
        *(runtime.db, runtime.resolver, runtime.audit, runtime.metrics),
        limits=runtime.limits.defaults,
        prices=settings.model_prices,
        fallbacks=settings.model_fallbacks,
    )


def facts_of(runtime: Runtime) -> FactFinder:
    """Return the finder of the facts in prompts."""
    memory, todos = runtime.memory.store, runtime.boards.todos
    return FactFinder(runtime.clock, runtime.redactor, runtime.skills, memory, todos)


def recovery_of(runtime: Runtime, parts: AgentParts) -> RunRecovery:
    """Return the recovery of runs of ended processes."""
    return RunRecovery(runtime.db, runtime.events, runtime.clock, parts.closer)


def open_loop(
    runtime: Runtime, parts: AgentParts, sessions: Sessions, model: ModelClient
) -> AgentLoop:
    """Return the agent loop."""
    settings = runtime.settings
    inputs = TurnInputBuilder(
        *(runtime.registry, runtime.resolver, runtime.deferred, facts_of(runtime), settings)
    )
    turn = ModelTurn(
        *(sessions, model, settings, parts.budget, inputs),
        artifacts=runtime.artifacts,
        metrics=runtime.metrics,
    )
    return AgentLoop(
        *(sessions, turn, parts.budget, parts.settings, runtime.projects),
        executor=runtime.executor,
        suspension=runtime.suspension,
        services=runtime.services,
    )


def open_runs(
    runtime: Runtime, parts: AgentParts, sessions: Sessions, loop: AgentLoop | None, archive: Any
) -> RunService:
    """Return the run service; without a loop, it only runs direct calls."""
    policy, executor, suspension = parts.restart_policy, runtime.executor, runtime.suspension
    records = RunRepository(
        *(runtime.db, runtime.clock, runtime.metrics, parts.settings, runtime.resolver),
        limits=runtime.limits.store,
        grants=runtime.grants,
        restart_policy=policy,
    )
    direct = DirectCalls(
        *(sessions, parts.settings, runtime.projects, executor, suspension, runtime.redactor)
    )
    work = RunWork(
        *(sessions, loop, archive, direct, executor, runtime.deferred),
        closer=parts.closer,
        restart_policy=policy,
    )
    return RunService(
        *(sessions, records, work, parts.settings, suspension, runtime.conditions), policy
    )


def offer_model(
    runtime: Runtime, parts: AgentParts, sessions: Sessions, runs: RunService, model: ModelClient
) -> None:
    """Register the model for tools."""
    client = ModelForTools(
        *(sessions, runs, model, parts.budget, parts.settings),
        services=runtime.services,
        redactor=runtime.redactor,
        metrics=runtime.metrics,
    )
    runtime.services.register(LLM_CLIENT, client)
    runtime.resolver.forget()
