"""The runtime, assembled from settings to an executor that every caller shares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.catalog.registry import ToolRegistry
from app.channels.channels import Channels
from app.config.settings import Settings
from app.core.clock import Clock, SystemClock
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.events.log import EventLog
from app.execution.artifacts import ArtifactStore
from app.execution.assembly import InteractionParts, RuntimeBase, build_governance, build_pipeline
from app.execution.background.notices import processes_of
from app.execution.background.processes import Processes
from app.execution.cache import ResultCache
from app.execution.catalog_sync import CatalogSync, in_step
from app.execution.checkpoints.undo import Undo
from app.execution.conditions import HealthMonitor
from app.execution.confirmation.service import ConfirmationService
from app.execution.deferred_tools import DeferredTools
from app.execution.executor import Executor
from app.execution.hooks.chain import Hooks
from app.execution.interactions.pending_inputs import PendingInputs
from app.execution.interactions.questions import UserQuestions
from app.execution.interactions.tickets import OperatorTickets
from app.execution.limits.limiter import Limiter
from app.execution.projects import OwnFolders, Projects
from app.execution.provenance.written_files import WrittenFiles
from app.execution.stores import Stores, open_stores
from app.execution.suspension import RunSuspension
from app.execution.uploads import Uploads
from app.governance.agent_store import AgentStore
from app.governance.audit.log import AuditLog
from app.governance.audit.maintenance import maintained
from app.governance.config_versions import ConfigVersions
from app.governance.grants import GrantStore
from app.governance.rules import RuleStore
from app.governance.tool_settings import ToolSettingsRepository
from app.knowledge.boards.boards import Boards
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.outbound_requests.sender import OutboundRequests
from app.knowledge.skills.service import SkillService
from app.knowledge.sources.query_retention import queries_trimmed
from app.knowledge.sources.setup import SourceServices
from app.operations.protocols.workspaces import Workspaces
from app.resolver.policy_sets import RuleSetCache
from app.resolver.resolver import Resolver
from app.toolkit.services import Services
from app.tools.shell.ports import SESSION_PROCESSES


@dataclass(frozen=True, slots=True)
class Runtime:
    """Services between a request to run a tool and its result."""

    settings: Settings
    clock: Clock
    db: SqliteWriter
    events: EventLog
    registry: ToolRegistry
    governance: ToolSettingsRepository
    agents: AgentStore
    changes: ConfigVersions
    catalog_sync: CatalogSync
    resolver: Resolver
    deferred: DeferredTools
    hooks: Hooks
    limits: Limiter
    cache: ResultCache
    confirmations: ConfirmationService
    interactions: InteractionParts
    grants: GrantStore
    rules: RuleStore
    rule_sets: RuleSetCache
    written: WrittenFiles
    artifacts: ArtifactStore
    workspaces: Workspaces
    projects: Projects
    undo: Undo
    uploads: Uploads
    processes: Processes
    stores: Stores
    executor: Executor
    redactor: Redactor
    audit: AuditLog
    metrics: Metrics
    services: Services
    conditions: HealthMonitor

    @property
    def suspension(self) -> RunSuspension:
        """Runs left to the next process."""
        return self.interactions.suspension

    @property
    def waiting(self) -> PendingInputs:
        """Running calls that wait for people."""
        return self.interactions.waiting

    @property
    def questions(self) -> UserQuestions:
        """Questions that tools ask the user."""
        return self.interactions.questions

    @property
    def tickets(self) -> OperatorTickets:
        """Tickets for operators."""
        return self.interactions.tickets

    @property
    def boards(self) -> Boards:
        """Todo lists, tasks, calendars, forums."""
        return self.stores.boards

    @property
    def memory(self) -> MemoryAdministration:
        """Memories of agents."""
        return self.stores.memory

    @property
    def skills(self) -> SkillService:
        """Instructions and programs for agents."""
        return self.stores.skills

    @property
    def sources(self) -> SourceServices:
        """Databases that agents may read."""
        return self.stores.sources

    @property
    def triggers(self) -> OutboundRequests:
        """Named outbound requests."""
        return self.stores.triggers

    @property
    def channels(self) -> Channels:
        """Notification channels."""
        return self.stores.channels


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    registry: ToolRegistry,
    workspaces: Workspaces,
    *,
    clock: Clock | None = None,
) -> AsyncIterator[Runtime]:
    """Open the database and assemble the runtime; closing it commits what is queued.

    The schema must be up to date (`app.db.schema.ensure_schema`).
    """
    clock = clock or SystemClock()
    db = SqliteWriter(settings.database_path)
    await db.start()
    try:
        runtime = assemble(settings, registry, workspaces, db, clock)
        await runtime.projects.load()
        await runtime.grants.load()
        await runtime.rules.load()
        await runtime.written.load()
        await runtime.stores.load()
        kept_days = settings.audit_retention_days
        query_days = settings.sources.query_retention_days
        async with (
            maintained(runtime.audit, db, clock, settings.data_dir, retention_days=kept_days),
            queries_trimmed(db, clock, runtime.audit, days=query_days),
            in_step(registry, runtime.catalog_sync, runtime.changes),
        ):
            try:
                yield runtime
            finally:
                await runtime.processes.close()
                await runtime.stores.close()
    finally:
        await db.close()


def assemble(
    settings: Settings,
    registry: ToolRegistry,
    workspaces: Workspaces,
    db: SqliteWriter,
    clock: Clock,
) -> Runtime:
    """Bind the parts. Only hooks have an effect: plugins are imported."""
    events = EventLog(db, clock, ring=settings.event_buffer_size)
    redactor, metrics, services = redactor_of(settings), Metrics(), Services()
    audit = AuditLog(db, clock, redactor, level=settings.audit_detail)
    changes = ConfigVersions(db)
    base = RuntimeBase(
        *(settings, registry, workspaces, db, clock),
        *(redactor, metrics, services, audit, changes),
    )
    processes = processes_of(settings, events, redactor, clock)
    services.register(SESSION_PROCESSES, processes)
    governed = build_governance(base)
    pipeline = build_pipeline(base, governed, processes.works_in)
    own = OwnFolders(settings.data_dir, settings.workspace_dir)
    projects = Projects(db, clock, workspaces, audit=audit, changes=changes, own=own)
    agents = AgentStore(governed.governance, clock)
    undo = Undo(pipeline.workspace_watch, projects, pipeline.cache, audit)
    return Runtime(
        settings=settings,
        clock=clock,
        db=db,
        events=events,
        registry=registry,
        governance=governed.governance,
        agents=agents,
        changes=changes,
        catalog_sync=CatalogSync(governed.governance),
        resolver=governed.resolver,
        deferred=governed.deferred,
        hooks=pipeline.hooks,
        limits=pipeline.limits,
        cache=pipeline.cache,
        confirmations=pipeline.confirmations,
        interactions=pipeline.interactions,
        grants=governed.grants,
        rules=governed.rules,
        rule_sets=governed.rule_sets,
        written=governed.written,
        artifacts=pipeline.artifacts,
        workspaces=workspaces,
        projects=projects,
        undo=undo,
        uploads=Uploads(undo, pipeline.cache, audit, max_bytes=settings.max_upload_bytes),
        processes=processes,
        stores=open_stores(base, governed, projects, agents),
        executor=pipeline.executor,
        redactor=redactor,
        audit=audit,
        metrics=metrics,
        services=services,
        conditions=HealthMonitor(settings, db, clock, metrics, audit),
    )


def redactor_of(settings: Settings) -> Redactor:
    """Return the redactor for the service's own secrets and the operator's patterns."""
    return Redactor(secret_values(settings), settings.redact_patterns)


def secret_values(settings: Settings) -> list[str]:
    """Return the service's own secrets, which are masked everywhere."""
    web = settings.web
    secrets = (
        *(settings.anthropic_api_key, settings.openai_api_key),
        *(settings.token, settings.images.api_key),
        *(web.brave_api_key, web.tavily_api_key),
        *(settings.memory.postgres, settings.memory.embeddings_key),
    )
    return [secret.get_secret_value() for secret in secrets if secret is not None]


def make_folder(path: Path) -> Path:
    """Return `path`; create it if missing."""
    path.mkdir(parents=True, exist_ok=True)
    return path
