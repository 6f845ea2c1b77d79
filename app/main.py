"""Composition root: settings become services, services become the application.

Heavy imports (web stack, SDKs, the ORM) are inside the functions that need them, so that
`tollgate call` does not load the server.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.catalog.builtin import load_builtin
from app.catalog.plugins import Plugins
from app.catalog.registry import ToolRegistry
from app.channels.desktop import swept
from app.config.settings import Settings
from app.core.clock import Clock, isoformat
from app.core.errors import ConfigurationError
from app.core.loop_watch import watched_loop
from app.core.models import split_model
from app.db.schema import ensure_schema
from app.execution.developer_services import developer_services
from app.execution.hooks.validation import check_hooks
from app.execution.projects import DEFAULT_PROJECT
from app.execution.setup import Runtime, make_folder, open_runtime
from app.execution.web_services import web_services
from app.knowledge.skills.workspaces import SkillWorkspaces
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.scratch import ScratchSandbox
from app.operations.sandbox.workspace import SandboxedWorkspaces
from app.toolkit.ports import LLM_CLIENT
from app.tools.automation.ports import SCHEDULES
from app.tools.delegation.ports import DELEGATION
from app.tools.skills.ports import SKILL_RUNS
from app.tools.system.ports import SESSION_SEARCH

if TYPE_CHECKING:
    from fastapi import FastAPI

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
async def local_runtime(
    settings: Settings, *, clock: Clock | None = None
) -> AsyncIterator[Runtime]:
    """Open the runtime of this installation: its database, plugins and default project.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: the workspace or the plugin folder cannot be used.
    """
    async with _installation(settings, clock=clock) as (runtime, _, _):
        yield runtime


@asynccontextmanager
async def runtime_as_served(settings: Settings) -> AsyncIterator[Runtime]:
    """Open the runtime like `local_runtime`, with all tools of a running service.

    It shows what agents may use, and cannot call it: services that only a running service has are
    placeholders.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: the workspace or the plugin folder cannot be used.
    """
    async with local_runtime(settings) as runtime:
        for name in (DELEGATION, SCHEDULES, LLM_CLIENT):
            runtime.services.register(name, object())
        runtime.resolver.forget()
        yield runtime


@asynccontextmanager
async def _installation(
    settings: Settings, *, clock: Clock | None = None, wake: bool = False
) -> AsyncIterator[tuple[Runtime, Sandbox, Plugins]]:
    """Open the runtime like `local_runtime`, and return its sandbox and plugins too.

    Args:
        wake: start the sandbox immediately, so that it is ready when `prepare` returns, and watch
            the machine, as a service does.
    """
    await asyncio.to_thread(ensure_schema, settings.database_path)
    workspace = make_folder(settings.workspace_dir)
    if workspace.resolve() == settings.data_dir.resolve():
        raise ConfigurationError(
            "The workspace is the data directory itself, which tools must not reach: set"
            " TOLLGATE_WORKSPACE to another folder"
        )
    sandbox = Sandbox(sandbox_config(settings))
    try:
        async with _waking(sandbox) if wake else nullcontext():
            registry = ToolRegistry()
            load_builtin(registry, settings=settings)
            plugins = Plugins(registry, settings.plugins_dir, check_hooks=check_hooks)
            plugins.load()
            workspaces = SandboxedWorkspaces(sandbox)
            async with open_runtime(settings, registry, workspaces, clock=clock) as runtime:
                runtime.projects.mount(
                    DEFAULT_PROJECT,
                    workspace,
                    tcp_ports=tuple(settings.sandbox.tcp_ports),
                    unprotected_paths=tuple(settings.sandbox.unprotected_paths),
                    restrict_to_workspace=settings.sandbox.restrict_to_workspace,
                )
                runtime.services.register(SKILL_RUNS, SkillWorkspaces(sandbox))

                def own_ports() -> frozenset[int]:
                    return sandbox.config.own_ports

                async with (
                    developer_services(settings, runtime.services, own_ports),
                    web_services(settings.web, runtime, ScratchSandbox(sandbox), own_ports),
                    swept(runtime.channels.desktop),
                    runtime.conditions.watched() if wake else nullcontext(),
                ):
                    yield runtime, sandbox, plugins
    finally:
        await sandbox.close()


@asynccontextmanager
async def _waking(sandbox: Sandbox) -> AsyncIterator[None]:
    """Let the sandbox's processes start on another processor while this one reads the tools."""
    await sandbox.known()
    waking = asyncio.create_task(sandbox.start())
    # Until its first child has started: reading the tools blocks the loop.
    await asyncio.sleep(0)
    try:
        yield
    finally:
        waking.cancel()
        await asyncio.wait({waking})


def sandbox_config(settings: Settings) -> SandboxConfig:
    """Return the configuration of the sandbox."""
    chosen = settings.sandbox
    # Another user cannot enter the data directory, and a hidden folder is not usable.
    holds_data = settings.data_dir.resolve().is_relative_to(settings.workspace_dir.resolve())
    apart = chosen.uid is not None or holds_data
    return SandboxConfig(
        temporary=None if apart else settings.data_dir.absolute() / "tmp",
        readable=tuple(str(path) for path in chosen.readable),
        hidden=(str(settings.data_dir.resolve()),),
        own_files=own_files(settings),
        own_ports=frozenset({settings.port} - {0}),
        uid=chosen.uid,
        weaker=chosen.weaker,
        warm_workers=chosen.warm_workers,
        memory_bytes=chosen.memory_mb << 20,
        disk_bytes=chosen.disk_mb << 20,
        processes=chosen.processes,
        git_author=chosen.git_author,
    )


def own_files(settings: Settings) -> tuple[str, ...]:
    """Return the code and configuration of the service, which would run what is written there."""
    named = [settings.plugins_dir, settings.rules_file, Path(".env"), Path("config.yml")]
    named.append(Path(__file__).parent)
    if sys.prefix != sys.base_prefix:
        named.append(Path(sys.prefix))
    return tuple(dict.fromkeys(str(path.resolve()) for path in named if path is not None))


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

    async with _installation(settings, clock=clock, wake=True) as (runtime, sandbox, plugins):
        keeping, recovered = await _take_up(runtime)
        reading = DatabaseQueries(settings.database_path)
        client = model or model_client(settings)
        try:
            sessions, runs = _agents(runtime, reading, client, keeping)
            tokens = Tokens(runtime.db, runtime.clock, runtime.audit)
            logins = logins_of(runtime, tokens)
            authenticator = Authenticator(settings, tokens, logins, runtime.audit, runtime.clock)
            # Before runs resume: their tools depend on the registered services.
            schedules = open_schedules(runtime)
            async with _delegation(
                *(runtime, sandbox, sessions, runs, client),
                restart_policy=keeping,
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


async def _take_up(runtime: Runtime) -> tuple[RestartPolicy, Recovered]:
    """Recover the runs of ended processes; return the restart policy and what was recovered."""
    from app.agents.recovery import recover
    from app.agents.restart_policy import restart_policy

    await runtime.workspaces.prepare()
    keeping = restart_policy(runtime, runtime.settings.durable_runs)
    return keeping, await recover(runtime, keeping)


def _agents(
    runtime: Runtime, reading: DatabaseQueries, client: ModelClient, keeping: RestartPolicy
) -> tuple[Sessions, RunService]:
    """Open the sessions and their runs."""
    from app.agents.loop import AgentLoop
    from app.agents.runs import RunService
    from app.agents.sessions import Sessions
    from app.agents.tool_model import ModelForTools

    runtime.services.register(SESSION_SEARCH, reading)
    sessions = Sessions(runtime.db, runtime.events, runtime.clock, reading.load, runtime.redactor)
    loop = AgentLoop(runtime, sessions, client, runtime.settings)
    runs = RunService(runtime, sessions, loop, reading, keeping)
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


def model_client(settings: Settings) -> ModelClient:
    """Return one client for all configured providers; those without a key name the missing setting.

    Raises:
        ConfigurationError: a key or an address cannot be used, or a model of the settings
            needs a package that is not installed.
    """
    from app.agents.models.fallback import FallbackModels
    from app.agents.models.openai import require_sdk
    from app.agents.models.routing import RoutedModels

    stronger = settings.escalation.stronger_model
    names = (settings.model, *settings.model_fallbacks, *([stronger] if stronger else ()))
    providers = [split_model(name, settings.model_provider)[0] for name in names]
    if settings.has_openai and "openai" in providers:
        require_sdk()
    models = RoutedModels(
        {"anthropic": _anthropic(settings), "openai": _openai(settings)},
        default=settings.model_provider,
    )
    return FallbackModels(models, settings.model_fallbacks)


def _anthropic(settings: Settings) -> ModelClient:
    from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
    from app.agents.models.routing import NoModel

    if settings.anthropic_api_key is None:
        return NoModel("ANTHROPIC_API_KEY")
    return AnthropicModel(
        AnthropicSettings(
            api_key=settings.anthropic_api_key.get_secret_value(),
            base_url=settings.anthropic_base_url,
            max_retries=settings.model_retries,
            timeout=settings.model_timeout_s,
        )
    )


def _openai(settings: Settings) -> ModelClient:
    from app.agents.models.openai import OpenAIModel, OpenAISettings
    from app.agents.models.routing import NoModel

    if not settings.has_openai:
        return NoModel("OPENAI_API_KEY")
    key = settings.openai_api_key
    return OpenAIModel(
        OpenAISettings(
            api_key=key.get_secret_value() if key else "",
            base_url=settings.openai_base_url,
            max_retries=settings.model_retries,
            timeout=settings.model_timeout_s,
        )
    )


def application(settings: Settings, *, model: ModelClient | None = None) -> FastAPI:
    """The ASGI application of this installation."""
    from app.api.app import create_app

    return create_app(settings, lambda: open_service(settings, model=model))
