"""The gate assembled: from settings to an executor that every caller shares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.catalog.registry import ToolRegistry
from app.core.clock import Clock, SystemClock
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.core.settings import Settings
from app.db.ledger import SqliteLedger
from app.events.log import EventLog
from app.execution.admission import Admission
from app.execution.artifacts import ArtifactStore
from app.execution.builtin_hooks import builtin_hooks
from app.execution.cache import ResultCache
from app.execution.confirmations import Confirmations
from app.execution.executor import Executor
from app.execution.finishing import Finisher
from app.execution.hooks import Hooks
from app.execution.loops import LoopGuard
from app.execution.projects import OpenWorkspace, Projects
from app.execution.record import Recorder
from app.execution.running import Runner
from app.governance.store import GovernanceStore
from app.policy.self_protection import SelfProtection
from app.resolver.resolver import Resolver
from app.toolkit.ports import ARTIFACTS
from app.toolkit.services import Services


@dataclass(frozen=True, slots=True)
class Gate:
    """Everything between a request to run a tool and its result."""

    settings: Settings
    clock: Clock
    ledger: SqliteLedger
    events: EventLog
    registry: ToolRegistry
    governance: GovernanceStore
    resolver: Resolver
    hooks: Hooks
    cache: ResultCache
    confirmations: Confirmations
    artifacts: ArtifactStore
    projects: Projects
    executor: Executor
    redactor: Redactor
    metrics: Metrics
    services: Services


@asynccontextmanager
async def open_gate(
    settings: Settings,
    registry: ToolRegistry,
    open_workspace: OpenWorkspace,
    *,
    clock: Clock | None = None,
) -> AsyncIterator[Gate]:
    """Open the database and assemble the gate; closing it commits what is queued.

    The schema must be up to date (`app.db.schema.ensure_schema`).
    """
    clock = clock or SystemClock()
    ledger = SqliteLedger(settings.database_path)
    await ledger.start()
    try:
        gate = assemble(settings, registry, open_workspace, ledger, clock)
        await gate.governance.sync(registry.snapshot())
        await gate.projects.load()
        yield gate
    finally:
        await ledger.close()


def assemble(
    settings: Settings,
    registry: ToolRegistry,
    open_workspace: OpenWorkspace,
    ledger: SqliteLedger,
    clock: Clock,
) -> Gate:
    """Bind the parts. Nothing here touches the world."""
    events = EventLog(ledger, clock, ring=settings.event_ring)
    governance = GovernanceStore(ledger, clock)
    resolver = Resolver(registry.snapshot, lambda: governance.snapshot)
    hooks = _hooks(settings, registry)
    redactor, metrics, services = Redactor(secret_values(settings)), Metrics(), Services()
    artifacts = ArtifactStore(settings.data_dir / "artifacts", ledger, clock)
    services.register(ARTIFACTS, artifacts)
    cache = ResultCache(clock, ttl_s=settings.cache_ttl, enabled=settings.enable_cache)
    confirmations = Confirmations(ledger, clock, ttl_s=settings.confirmation_ttl_s)
    recorder = Recorder(ledger, redactor, metrics)
    loops = LoopGuard(warn_after=settings.loop_warn_after, refuse_after=settings.loop_refuse_after)
    executor = Executor(
        admission=Admission(registry.snapshot, resolver, _protection(settings)),
        hooks=hooks,
        cache=cache,
        loops=loops,
        confirmations=confirmations,
        runner=_runner(settings, services, clock, redactor),
        recorder=recorder,
        finisher=Finisher(
            recorder=recorder,
            hooks=hooks,
            loops=loops,
            artifacts=artifacts,
            redactor=redactor,
            output_chars=settings.tool_output_chars,
        ),
        ledger=ledger,
        redactor=redactor,
        max_workers=settings.tool_max_workers,
    )
    projects = Projects(ledger, clock, open_workspace)
    return Gate(
        settings=settings,
        clock=clock,
        ledger=ledger,
        events=events,
        registry=registry,
        governance=governance,
        resolver=resolver,
        hooks=hooks,
        cache=cache,
        confirmations=confirmations,
        artifacts=artifacts,
        projects=projects,
        executor=executor,
        redactor=redactor,
        metrics=metrics,
        services=services,
    )


def _protection(settings: Settings) -> SelfProtection:
    return SelfProtection(
        port=settings.port,
        data_dir=str(settings.data_dir.absolute()),
        workspace=str(settings.workspace_dir.absolute()),
    )


def _runner(settings: Settings, services: Services, clock: Clock, redactor: Redactor) -> Runner:
    return Runner(
        services=services,
        clock=clock,
        redactor=redactor,
        spool_dir=settings.data_dir / "artifacts",
        progress_dir=settings.data_dir / "operations",
        timeout_s=settings.tool_timeout_s,
    )


def secret_values(settings: Settings) -> list[str]:
    """The service's own secrets, so that nothing ever prints them."""
    secrets = (settings.anthropic_api_key, settings.token)
    return [secret.get_secret_value() for secret in secrets if secret is not None]


def make_folder(path: Path) -> Path:
    """`path`, made when it is missing."""
    path.mkdir(parents=True, exist_ok=True)
    return path


def _hooks(settings: Settings, registry: ToolRegistry) -> Hooks:
    """Built-in hooks, and those that tools brought along at registration."""
    hooks = Hooks()
    for hook in builtin_hooks(confirm=settings.confirm_dangerous):
        hooks.register(hook)

    def adopt() -> None:
        hooks.replace_tool_hooks(registry.snapshot().hooks)

    adopt()
    registry.on_change(lambda *_: adopt())
    return hooks
