"""The runtime, assembled from settings to an executor that every caller shares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.bootstrap.container import Runtime
from app.bootstrap.features import open_stores
from app.bootstrap.pipeline import RuntimeBase, build_governance, build_pipeline
from app.catalog.registry import ToolRegistry
from app.config.secret_values import redactor_of
from app.config.settings import Settings
from app.core.clock import Clock, SystemClock
from app.core.metrics import Metrics
from app.db.writer import SqliteWriter
from app.domain.processes import SESSION_PROCESSES
from app.events.log import EventLog
from app.execution.background.notices import processes_of
from app.execution.catalog_sync import CatalogSync, in_step
from app.execution.checkpoints.undo import Undo
from app.execution.conditions import HealthMonitor
from app.execution.connections.recorder import kept_connections
from app.execution.projects import OwnFolders, Projects
from app.execution.uploads import Uploads
from app.governance.agent_store import AgentStore
from app.governance.audit.log import AuditLog
from app.governance.audit.maintenance import maintained
from app.governance.audit.retention import Kept, trimmed
from app.governance.config_versions import ConfigVersions
from app.operations.protocols.workspaces import Workspaces
from app.toolkit.services import Services


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
        await runtime.approvals.load()
        await runtime.rules.load()
        await runtime.written.load()
        await runtime.stores.load()
        kept_days = settings.audit_retention_days
        query_days = settings.sources.query_retention_days
        async with (
            maintained(runtime.audit, db, clock, settings.data_dir, retention_days=kept_days),
            trimmed(db, clock, runtime.audit, Kept("query_audit", "sql.trimmed", query_days)),
            trimmed(db, clock, runtime.audit, kept_connections(kept_days)),
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
        approvals=governed.approvals,
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
