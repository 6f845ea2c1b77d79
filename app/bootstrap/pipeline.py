"""How the runtime is put together: what is stored, what decides, what runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.bootstrap.container import InteractionParts
from app.catalog.registry import ToolRegistry
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.domain.history import STORED_RESULTS
from app.domain.interactions import QUESTIONS, TICKETS
from app.domain.processes import SHELL_STATES
from app.execution.admission import Admission, PolicyInputs
from app.execution.artifacts import ArtifactStore
from app.execution.background.states import SessionShells
from app.execution.cache import ResultCache
from app.execution.call_audit import CallAudit
from app.execution.checkpoints.blobs import BlobStore
from app.execution.checkpoints.store import CheckpointStore
from app.execution.checkpoints.watched_files import WorkspaceWatch
from app.execution.confirmation.options import GrantTtls
from app.execution.confirmation.service import ConfirmationLimits, ConfirmationService
from app.execution.confirmation.step import ConfirmationStep
from app.execution.created_files import CreatedFiles
from app.execution.deferred_tools import DeferredTools
from app.execution.execution import Execution
from app.execution.executor import Executor
from app.execution.hooks.chain import Hooks
from app.execution.hooks.setup import assemble_hooks
from app.execution.interactions.pending_inputs import PendingInputs
from app.execution.interactions.questions import UserQuestions
from app.execution.interactions.tickets import OperatorTickets
from app.execution.limits.limiter import Limiter, assemble_limits
from app.execution.loops import LoopGuard
from app.execution.operation_logs import operation_logs_of
from app.execution.outcome_builder import OutcomeBuilder
from app.execution.provenance.written_files import WrittenFiles
from app.execution.record import Recorder
from app.execution.result_archive import ResultArchive
from app.execution.rule_hint import RuleHint
from app.execution.runner import ToolRunner
from app.execution.suspension import RunSuspension
from app.governance.approvals.rights import ApprovalRights, approvals_of
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions
from app.governance.grants import GrantStore
from app.governance.rules import RuleStore, StoredRule, file_rules
from app.governance.tool_settings import ToolSettingsRepository
from app.operations.local.environment import SAFE_PATH
from app.operations.protocols.sandbox import Level
from app.operations.protocols.workspaces import Workspaces
from app.policy.self_protection import SelfProtection
from app.resolver.layers import Confinement, HostCapabilities
from app.resolver.policy_sets import GrantSetCache, RuleSetCache
from app.resolver.resolver import Resolver
from app.toolkit.ports import ARTIFACTS, CODE_OPERATIONS, CODE_RULES, TOOL_FINDER
from app.toolkit.services import Services
from app.tools.code.modules import CodeRules


@dataclass(frozen=True, slots=True)
class RuntimeBase:
    """Base services."""

    settings: Settings
    registry: ToolRegistry
    workspaces: Workspaces
    db: SqliteWriter
    clock: Clock
    redactor: Redactor
    metrics: Metrics
    services: Services
    audit: AuditLog
    changes: ConfigVersions


@dataclass(frozen=True, slots=True)
class GovernanceParts:
    """Stored governance, and what is derived from it."""

    governance: ToolSettingsRepository
    resolver: Resolver
    deferred: DeferredTools
    grants: GrantStore
    rules: RuleStore
    rule_sets: RuleSetCache
    admission: Admission
    created: CreatedFiles
    written: WrittenFiles
    approvals: ApprovalRights


@dataclass(frozen=True, slots=True)
class PipelineParts:
    """Services that take a call from its arguments to its end."""

    hooks: Hooks
    limits: Limiter
    cache: ResultCache
    confirmations: ConfirmationService
    interactions: InteractionParts
    artifacts: ArtifactStore
    workspace_watch: WorkspaceWatch
    executor: Executor


def build_governance(base: RuntimeBase) -> GovernanceParts:
    """Bind stored governance to its evaluators."""
    settings, registry = base.settings, base.registry
    db, clock = base.db, base.clock
    audit, changes = base.audit, base.changes
    governance = ToolSettingsRepository(db, clock, audit=audit, changes=changes)
    host = _host_capabilities(settings, base.services, base.workspaces)
    resolver = Resolver(registry, governance, host)
    deferred = DeferredTools(registry.snapshot, resolver)
    base.services.register(TOOL_FINDER, deferred)
    grants = GrantStore(db, clock, audit)
    from_file = _rules_of(settings.rules_file)
    rules = RuleStore(db, clock, audit, changes, from_file=from_file)
    rule_sets = RuleSetCache(rules, registry.snapshot)
    base.services.register(CODE_OPERATIONS, base.workspaces.code)
    base.services.register(CODE_RULES, CodeRules.of(settings.code_execution))
    shells = SessionShells()
    base.services.register(SHELL_STATES, shells)
    created, written = CreatedFiles(), WrittenFiles(db, changes)
    approvals = approvals_of(db, clock, audit, changes)
    policy = PolicyInputs(
        rule_sets,
        GrantSetCache(grants, permanent=settings.allow_permanent),
        _protection(settings),
        clock,
        rules.hit,
        approvals.policies,
    )
    admission = Admission(
        registry,
        resolver,
        policy,
        base.redactor,
        base.services,
        kept_cwd=lambda shell_id, project_id: shells.get(shell_id, project_id).cwd,
        created=created,
        written=written,
    )
    return GovernanceParts(
        *(governance, resolver, deferred, grants, rules, rule_sets, admission, created, written),
        approvals,
    )


def build_pipeline(
    base: RuntimeBase, governed: GovernanceParts, is_worked_in: Callable[[str], bool]
) -> PipelineParts:
    """Bind the services that run calls. Hook plugins are imported here."""
    settings, db, clock = base.settings, base.db, base.clock
    redactor, audit, metrics = base.redactor, base.audit, base.metrics
    admission, grants = governed.admission, governed.grants
    hooks = assemble_hooks(
        settings, base.registry, base.workspaces, clock, audit=audit, metrics=metrics
    )
    limits = assemble_limits(
        settings, governed.governance, governed.resolver, clock, audit=audit, metrics=metrics
    )
    artifacts = _result_stores(base)
    cache = ResultCache(
        clock, ttl_s=settings.cache_ttl_s, enabled=settings.enable_cache, is_worked_in=is_worked_in
    )
    suspension = RunSuspension()
    confirmations = _confirmations(base, grants, suspension, governed.approvals)
    recorder = Recorder(db, redactor, metrics, CallAudit(audit))
    loops = LoopGuard(warn_after=settings.loop_warn_after, refuse_after=settings.loop_refuse_after)
    outcomes = OutcomeBuilder(
        loops=loops,
        artifacts=artifacts,
        redactor=redactor,
        output_chars=settings.tool_output_chars,
        turn_chars=settings.turn_output_chars,
        rule_hint=RuleHint(governed.resolver),
    )
    confirmation_step = ConfirmationStep(
        confirmations,
        admission,
        db,
        redactor,
        grants,
        _grant_times(settings),
        suspension,
        unattended=settings.unattended,
    )
    interactions = _interactions(base, suspension, confirmation_step)
    governed.written.watch(is_worked_in)
    store = CheckpointStore(BlobStore(settings.data_dir / "checkpoints"), db, clock)
    workspace_watch = WorkspaceWatch(store, governed.created, governed.written)
    executor = Executor(
        admission=admission,
        hooks=hooks,
        limits=limits,
        confirmation_step=confirmation_step,
        execution=Execution(_runner(base, workspace_watch), hooks, cache, loops, outcomes),
        recorder=recorder,
        waiting=interactions.waiting,
        db=db,
    )
    return PipelineParts(
        hooks, limits, cache, confirmations, interactions, artifacts, workspace_watch, executor
    )


def _result_stores(base: RuntimeBase) -> ArtifactStore:
    artifacts = ArtifactStore(base.settings.data_dir / "artifacts", base.db, base.clock)
    base.services.register(ARTIFACTS, artifacts)
    base.services.register(STORED_RESULTS, ResultArchive(base.db))
    return artifacts


def _host_capabilities(
    settings: Settings, services: Services, workspaces: Workspaces
) -> HostCapabilities:
    """Return the host's capabilities: registered services, and settings that have a value."""

    def has(name: str) -> bool:
        return services.get(name) is not None or getattr(settings, name, None) not in (None, "")

    def finds(program: str) -> bool:
        return shutil.which(program, path=SAFE_PATH) is not None

    def confinement(level: Level) -> Confinement:
        found = workspaces.status.levels[level]
        return Confinement(found.available, found.asks, found.sentence)

    return HostCapabilities(
        has=has,
        finds=finds,
        confinement=confinement,
        max_visible=settings.max_visible_tools,
    )


def _interactions(
    base: RuntimeBase, suspension: RunSuspension, confirmation_step: ConfirmationStep
) -> InteractionParts:
    """Register the services for questions and tickets."""
    db, clock, audit = base.db, base.clock, base.audit
    waiting = PendingInputs(db, clock, suspension)
    parts = (db, clock, audit, base.redactor, waiting, confirmation_step)
    ttl_s = base.settings.question_ttl_s
    questions = UserQuestions(*parts, ttl_s=ttl_s)
    interactions = InteractionParts(
        suspension, waiting, questions, OperatorTickets(*parts, ttl_s=ttl_s)
    )
    base.services.register(QUESTIONS, interactions.questions)
    base.services.register(TICKETS, interactions.tickets)
    return interactions


def _confirmations(
    base: RuntimeBase, grants: GrantStore, suspension: RunSuspension, approvals: ApprovalRights
) -> ConfirmationService:
    settings = base.settings
    return ConfirmationService(
        base.db,
        base.clock,
        grants,
        base.audit,
        suspension,
        base.redactor,
        approvals,
        ConfirmationLimits(settings.confirmation_ttl_s, settings.max_pending_confirmations),
    )


def _grant_times(settings: Settings) -> GrantTtls:
    return GrantTtls(
        settings.grant_session_ttl_s,
        settings.grant_agent_ttl_s,
        settings.grant_always_ttl_s,
        permanent=settings.allow_permanent,
    )


def _rules_of(path: Path | None) -> tuple[StoredRule, ...]:
    """Return the rules of the operator's file."""
    if path is None:
        return ()
    # Imported here because it loads the YAML parser, which most installations do not need.
    from app.governance.rule_file import read_rule_file

    return file_rules(read_rule_file(path))


def _protection(settings: Settings) -> SelfProtection:
    data_dir, workspace = settings.data_dir.absolute(), settings.workspace_dir.absolute()
    return SelfProtection(
        port=settings.port,
        data_dir=str(data_dir),
        workspace=str(workspace),
        real=(str(data_dir.resolve()), str(workspace.resolve())),
    )


def _runner(base: RuntimeBase, workspace_watch: WorkspaceWatch) -> ToolRunner:
    settings = base.settings
    return ToolRunner(
        services=base.services,
        clock=base.clock,
        redactor=base.redactor,
        spool_dir=settings.data_dir / "artifacts",
        logs=operation_logs_of(settings),
        db=base.db,
        timeout_s=settings.tool_timeout_s,
        workspace_watch=workspace_watch,
    )
