"""An installation: its database, plugins, sandbox and default project."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import app
from app.bootstrap.container import Runtime
from app.bootstrap.runtime import open_runtime
from app.bootstrap.tool_services import developer_services, web_services
from app.catalog.builtin import load_builtin
from app.catalog.plugins import Plugins
from app.catalog.registry import ToolRegistry
from app.channels.desktop import swept
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.errors import ConfigurationError
from app.db.schema import ensure_schema
from app.domain.delegation import DELEGATION
from app.domain.rule_requests import RULE_REQUESTS
from app.domain.schedules import SCHEDULES
from app.domain.skills import SKILL_RUNS
from app.execution.connections.recorder import ConnectionRecorder
from app.execution.hooks.validation import check_hooks
from app.execution.projects import DEFAULT_PROJECT
from app.knowledge.skills.workspaces import SkillWorkspaces
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.scratch import ScratchSandbox
from app.operations.sandbox.workspace import SandboxedWorkspaces
from app.toolkit.ports import LLM_CLIENT


@asynccontextmanager
async def local_runtime(
    settings: Settings, *, clock: Clock | None = None
) -> AsyncIterator[Runtime]:
    """Open the runtime of this installation: its database, plugins and default project.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: the workspace or the plugin folder cannot be used.
    """
    async with open_installation(settings, clock=clock) as (runtime, _, _):
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
        for name in (DELEGATION, SCHEDULES, RULE_REQUESTS, LLM_CLIENT):
            runtime.services.register(name, object())
        runtime.resolver.forget()
        yield runtime


@asynccontextmanager
async def open_installation(
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
                    allowed_hosts=tuple(settings.sandbox.allowed_hosts),
                    unprotected_paths=tuple(settings.sandbox.unprotected_paths),
                    restrict_to_workspace=settings.sandbox.restrict_to_workspace,
                )
                runtime.services.register(SKILL_RUNS, SkillWorkspaces(sandbox))
                sandbox.egress.log = recorder = ConnectionRecorder(
                    runtime.db, runtime.clock, runtime.redactor, runtime.metrics
                )
                if wake:
                    await recorder.load()

                def own_ports() -> frozenset[int]:
                    return sandbox.config.own_ports

                async with (
                    developer_services(settings, runtime.services, own_ports),
                    web_services(
                        settings.web,
                        runtime.services,
                        runtime.clock,
                        ScratchSandbox(sandbox),
                        own_ports,
                    ),
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
        caches=settings.data_dir / "caches" if chosen.cache_mb else None,
        cache_bytes=chosen.cache_mb << 20,
        own_ports=frozenset({settings.port} - {0}),
        allow_networks=tuple(chosen.allow_networks),
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
    named.append(Path(app.__file__).parent)
    if sys.prefix != sys.base_prefix:
        named.append(Path(sys.prefix))
    return tuple(dict.fromkeys(str(path.resolve()) for path in named if path is not None))


def make_folder(path: Path) -> Path:
    """Return `path`; create it if missing."""
    path.mkdir(parents=True, exist_ok=True)
    return path
