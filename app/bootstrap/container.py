"""The runtime: services between a request to run a tool and its result.

Only this package and the entry points above it see all of them; everything else names what it uses.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.catalog.registry import ToolRegistry
from app.channels.channels import Channels
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.events.log import EventLog
from app.execution.artifacts import ArtifactStore
from app.execution.background.processes import Processes
from app.execution.cache import ResultCache
from app.execution.catalog_sync import CatalogSync
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
from app.execution.projects import Projects
from app.execution.provenance.written_files import WrittenFiles
from app.execution.suspension import RunSuspension
from app.execution.uploads import Uploads
from app.governance.agent_store import AgentStore
from app.governance.approvals.rights import ApprovalRights
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions
from app.governance.grants import GrantStore
from app.governance.rules import RuleStore
from app.governance.tool_settings import ToolSettingsRepository
from app.knowledge.boards.boards import Boards
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.outbound_requests.sender import OutboundRequests
from app.knowledge.skills.service import SkillService
from app.knowledge.sources.setup import SourceServices
from app.operations.protocols.workspaces import Workspaces
from app.resolver.policy_sets import RuleSetCache
from app.resolver.resolver import Resolver
from app.toolkit.services import Services


@dataclass(frozen=True, slots=True)
class InteractionParts:
    """Confirmations, questions and tickets of running calls, and the runs that wait for them."""

    suspension: RunSuspension
    waiting: PendingInputs
    questions: UserQuestions
    tickets: OperatorTickets


@dataclass(frozen=True, slots=True)
class Stores:
    """Feature services of agents, one per subject."""

    boards: Boards
    memory: MemoryAdministration
    skills: SkillService
    sources: SourceServices
    triggers: OutboundRequests
    channels: Channels

    async def load(self) -> None:
        """Load their caches."""
        await self.skills.load_decisions()
        await self.sources.store.load()
        await self.triggers.store.load()
        await self.channels.store.load()

    async def close(self) -> None:
        """Close their resources."""
        await self.sources.reading.close()
        await self.memory.close()


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
    approvals: ApprovalRights
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
