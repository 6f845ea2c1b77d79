"""The service without its HTTP interface: the runtime, sessions, runs and models."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.agents.database_queries import DatabaseQueries
from app.agents.models.protocol import ModelClient
from app.agents.sessions import Sessions
from app.api.auth import Authenticator
from app.api.service import Service
from app.bootstrap.agents import agent_parts, offer_model, open_loop, open_runs, recovery_of
from app.bootstrap.container import Runtime
from app.bootstrap.delegation import delegating, escalating
from app.bootstrap.installation import open_installation
from app.bootstrap.models import model_client
from app.bootstrap.notifications import NotificationParts, notifying
from app.bootstrap.previews import decision_preview, toolset_preview
from app.bootstrap.proposals import proposing
from app.bootstrap.triggers import open_schedules, open_webhooks, scheduler_of
from app.config.settings import Settings
from app.core.background import background
from app.core.clock import Clock, isoformat
from app.core.loop_watch import watched_loop
from app.domain.history import SESSION_SEARCH
from app.governance.identity.logins import Logins
from app.governance.identity.tokens import Tokens
from app.operations.sandbox.sandbox import Sandbox
from app.workers.pool import WorkerPool


@asynccontextmanager
async def open_service(
    settings: Settings, *, model: ModelClient | None = None, clock: Clock | None = None
) -> AsyncIterator[ComposedService]:
    """Open the service without its HTTP interface: the runtime, sessions, runs and model.

    Runs and calls of ended processes are resumed or closed before anything else starts.
    """
    async with open_installation(settings, clock=clock, wake=True) as (runtime, sandbox, plugins):
        await runtime.workspaces.prepare()
        parts = agent_parts(runtime)
        recovered = await recovery_of(runtime, parts).recover(parts.restart_policy)
        reading = DatabaseQueries(settings.database_path)
        client = model or model_client(settings)
        try:
            runtime.services.register(SESSION_SEARCH, reading)
            sessions = _sessions(runtime, reading)
            loop = open_loop(runtime, parts, sessions, client)
            runs = open_runs(runtime, parts, sessions, loop, reading)
            offer_model(runtime, parts, sessions, runs, client)
            tokens = Tokens(runtime.db, runtime.clock, runtime.audit)
            logins = logins_of(runtime, tokens)
            authenticator = Authenticator(settings, tokens, logins, runtime.audit, runtime.clock)
            # Before runs resume: their tools depend on the registered services.
            schedules = open_schedules(runtime)
            left = recovered.delegated
            async with (
                _workers(settings, sandbox) as workers,
                delegating(
                    *(runtime, parts, sessions, runs, client, workers), tokens=tokens, left=left
                ) as delegation,
                escalating(runtime, parts, sessions, runs, delegation),
                proposing(runtime, reading) as proposals,
            ):
                await runs.resume(recovered, tokens)
                scheduler = scheduler_of(runtime, schedules, sessions, runs, tokens)
                async with (
                    background(scheduler.run()),
                    watched_loop(runtime.metrics) as watch,
                    notifying(runtime, sessions, authenticator, reading) as notified,
                ):
                    yield composed(
                        *(runtime, notified),
                        plugins=plugins,
                        reading=reading,
                        sessions=sessions,
                        runs=runs,
                        delegation=delegation,
                        proposals=proposals,
                        schedules=schedules,
                        webhooks=await open_webhooks(runtime, sessions, runs, tokens),
                        tokens=tokens,
                        logins=logins,
                        has_model=model is not None or settings.has_model,
                        loop_watch=watch,
                    )
                delegation.closing()
                await runs.close()
        finally:
            await client.aclose()
            await reading.close()


def _sessions(runtime: Runtime, reading: DatabaseQueries) -> Sessions:
    return Sessions(runtime.db, runtime.events, runtime.clock, reading.load, runtime.redactor)


@asynccontextmanager
async def _workers(settings: Settings, sandbox: Sandbox) -> AsyncIterator[WorkerPool]:
    """Open the processes of sub-agents."""
    functions = settings.calculator_functions
    async with WorkerPool(sandbox, settings.sub_agent, calculator_functions=functions) as pool:
        yield pool


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedService(Service):
    """The service with the runtime that it was composed from, for tests and measurements."""

    runtime: Runtime


def composed(runtime: Runtime, notified: NotificationParts, **parts: Any) -> ComposedService:
    """Return the service: what the API uses of the runtime, and `parts` of its own."""
    clock = runtime.clock
    return ComposedService(
        runtime=runtime,
        settings=runtime.settings,
        agents=runtime.agents,
        approvals=runtime.approvals,
        artifacts=runtime.artifacts,
        audit=runtime.audit,
        authenticator=notified.authenticator,
        boards=runtime.boards,
        cache=runtime.cache,
        catalog_sync=runtime.catalog_sync,
        channels=runtime.channels,
        chat_links=notified.chat_links,
        clock=clock,
        conditions=runtime.conditions,
        confirmations=runtime.confirmations,
        db=runtime.db,
        executor=runtime.executor,
        governance=runtime.governance,
        grants=runtime.grants,
        hooks=runtime.hooks,
        inbox=notified.inbox,
        limits=runtime.limits,
        memory=runtime.memory,
        metrics=runtime.metrics,
        chat_listeners=notified.listeners,
        notices=notified.notices,
        notifications=notified.notifications,
        projects=runtime.projects,
        push_keys=notified.push_keys,
        questions=runtime.questions,
        redactor=runtime.redactor,
        registry=runtime.registry,
        resolver=runtime.resolver,
        rule_sets=runtime.rule_sets,
        rules=runtime.rules,
        services=runtime.services,
        skills=runtime.skills,
        sources=runtime.sources,
        tickets=runtime.tickets,
        triggers=runtime.triggers,
        undo=runtime.undo,
        uploads=runtime.uploads,
        workspaces=runtime.workspaces,
        toolset_preview=toolset_preview(runtime),
        decision_preview=decision_preview(runtime),
        started_at=isoformat(clock.now()),
        **parts,
    )


def logins_of(runtime: Runtime, tokens: Tokens) -> Logins:
    """Return the browser sessions."""
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
