"""The service without its HTTP interface: the runtime, sessions, runs and models."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from app.bootstrap.installation import open_installation
from app.bootstrap.models import model_client
from app.config.settings import Settings
from app.core.clock import Clock, isoformat
from app.core.loop_watch import watched_loop
from app.domain.history import SESSION_SEARCH
from app.execution.runtime import Runtime
from app.operations.sandbox.sandbox import Sandbox
from app.toolkit.ports import LLM_CLIENT

if TYPE_CHECKING:
    from app.agents.database_queries import DatabaseQueries
    from app.agents.delegation.service import DelegationService
    from app.agents.models.protocol import ModelClient
    from app.agents.recovery import Recovered
    from app.agents.restart_policy import RestartPolicy
    from app.agents.runs import RunService
    from app.agents.sessions import Sessions
    from app.api.service import Service
    from app.governance.identity.logins import Logins
    from app.governance.identity.tokens import Tokens


@asynccontextmanager
async def open_service(
    settings: Settings, *, model: ModelClient | None = None, clock: Clock | None = None
) -> AsyncIterator[Service]:
    """Open the service without its HTTP interface: the runtime, sessions, runs and model.

    Runs and calls of ended processes are resumed or closed before anything else starts.
    """
    from app.agents.database_queries import DatabaseQueries
    from app.agents.schedules.scheduler import open_schedules, scheduling
    from app.agents.webhooks.receiver import open_webhooks
    from app.api.auth import Authenticator
    from app.api.service import Service
    from app.governance.identity.tokens import Tokens

    async with open_installation(settings, clock=clock, wake=True) as (runtime, sandbox, plugins):
        policy, recovered = await _recovered(runtime)
        reading = DatabaseQueries(settings.database_path)
        client = model or model_client(settings)
        try:
            sessions, runs = _agents(runtime, reading, client, policy)
            tokens = Tokens(runtime.db, runtime.clock, runtime.audit)
            logins = logins_of(runtime, tokens)
            authenticator = Authenticator(settings, tokens, logins, runtime.audit, runtime.clock)
            # Before runs resume: their tools depend on the registered services.
            schedules = open_schedules(runtime)
            async with _delegation(
                *(runtime, sandbox, sessions, runs, client),
                restart_policy=policy,
                tokens=tokens,
                left=recovered.delegated,
            ) as delegation:
                await runs.resume(recovered, tokens)
                calendar = scheduling(runtime, schedules, sessions, runs, tokens)
                async with calendar, watched_loop(runtime.metrics) as watch:
                    yield Service(
                        settings=settings,
                        runtime=runtime,
                        plugins=plugins,
                        reading=reading,
                        sessions=sessions,
                        runs=runs,
                        delegation=delegation,
                        schedules=schedules,
                        webhooks=await open_webhooks(runtime, sessions, runs, tokens),
                        tokens=tokens,
                        logins=logins,
                        authenticator=authenticator,
                        has_model=model is not None or settings.has_model,
                        started_at=isoformat(runtime.clock.now()),
                        loop_watch=watch,
                    )
                delegation.closing()
                await runs.close()
        finally:
            await client.aclose()
            await reading.close()


async def _recovered(runtime: Runtime) -> tuple[RestartPolicy, Recovered]:
    """Recover the runs of ended processes; return the restart policy and what was recovered."""
    from app.agents.recovery import recover
    from app.agents.restart_policy import restart_policy

    await runtime.workspaces.prepare()
    policy = restart_policy(runtime, runtime.settings.durable_runs)
    return policy, await recover(runtime, policy)


def _agents(
    runtime: Runtime, reading: DatabaseQueries, client: ModelClient, policy: RestartPolicy
) -> tuple[Sessions, RunService]:
    """Open the sessions and their runs."""
    from app.agents.loop import AgentLoop
    from app.agents.runs import RunService
    from app.agents.sessions import Sessions
    from app.agents.tool_model import ModelForTools

    runtime.services.register(SESSION_SEARCH, reading)
    sessions = Sessions(runtime.db, runtime.events, runtime.clock, reading.load, runtime.redactor)
    loop = AgentLoop(runtime, sessions, client, runtime.settings)
    runs = RunService(runtime, sessions, loop, reading, policy)
    runtime.services.register(LLM_CLIENT, ModelForTools(runtime, sessions, runs, client))
    runtime.resolver.forget()
    return sessions, runs


@asynccontextmanager
async def _delegation(
    runtime: Runtime,
    sandbox: Sandbox,
    sessions: Sessions,
    runs: RunService,
    model: ModelClient,
    **options: Any,
) -> AsyncIterator[DelegationService]:
    """Open delegation with its worker processes; `options` are those of `delegating`."""
    from app.agents.delegation.wiring import delegating
    from app.agents.escalation import escalating
    from app.workers.pool import WorkerPool

    settings = runtime.settings
    functions = settings.calculator_functions
    async with (
        WorkerPool(sandbox, settings.sub_agent, calculator_functions=functions) as workers,
        delegating(*(runtime, sessions, runs, model, settings, workers), **options) as delegation,
        escalating(runtime, sessions, runs, delegation, settings),
    ):
        yield delegation


def logins_of(runtime: Runtime, tokens: Tokens) -> Logins:
    """Return the browser sessions."""
    from app.governance.identity.logins import Logins

    settings = runtime.settings
    return Logins(
        runtime.db,
        runtime.clock,
        runtime.audit,
        tokens,
        lifetime_s=settings.login_lifetime_s,
        idle_s=settings.login_idle_s,
        own_token=settings.token.get_secret_value() if settings.token else None,
    )
