"""Components that the API uses: one object per application."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.agents.database_queries import DatabaseQueries
from app.agents.delegation.service import DelegationService
from app.agents.inbox import Inbox
from app.agents.notices import NoticeFeed
from app.agents.preview import ToolsetPreview
from app.agents.rule_proposals.service import RuleProposals
from app.agents.runs import RunService
from app.agents.schedules.service import ScheduleService
from app.agents.sessions import Session, Sessions
from app.agents.webhooks.receiver import WebhookReceiver
from app.api.auth import Authenticator
from app.api.principal import Principal
from app.api.ws_tickets import WsTickets
from app.catalog.plugins import Plugins
from app.catalog.registry import ToolRegistry
from app.channels.channels import Channels
from app.channels.notifications.chat_answers import ChatLinks
from app.channels.notifications.listeners import ChannelListeners
from app.channels.notifications.notifications import Notifications
from app.channels.notifications.sender import ChannelTrouble
from app.channels.notifications.web_push import VapidKeys
from app.config.settings import Settings
from app.core.clock import Clock
from app.core.errors import NotFound
from app.core.loop_watch import LoopWatch
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.execution.artifacts import ArtifactStore
from app.execution.cache import ResultCache
from app.execution.can_i import DecisionPreview
from app.execution.catalog_sync import CatalogSync
from app.execution.checkpoints.undo import Undo
from app.execution.conditions import HealthMonitor
from app.execution.confirmation.service import ConfirmationService
from app.execution.doctor.examination import Doctor
from app.execution.executor import Executor
from app.execution.hooks.chain import Hooks
from app.execution.interactions.questions import UserQuestions
from app.execution.interactions.tickets import OperatorTickets
from app.execution.limits.limiter import Limiter
from app.execution.projects import Projects
from app.execution.uploads import Uploads
from app.governance.agent_store import AgentStore
from app.governance.approvals.rights import ApprovalRights
from app.governance.audit.log import AuditLog
from app.governance.grants import GrantStore
from app.governance.identity.logins import Logins
from app.governance.identity.tokens import Tokens
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

if TYPE_CHECKING:
    from app.agents.session_queries import SessionQueries
    from app.db.engine import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The running service: everything that routes use, by name.

    Attributes:
        reading: queries of the API.
        has_model: False without a model key.
        tickets: tickets that agents open for operators; `ws_tickets` open WebSockets.
        started_at: RFC 3339.
    """

    settings: Settings
    plugins: Plugins
    reading: DatabaseQueries
    sessions: Sessions
    runs: RunService
    delegation: DelegationService
    inbox: Inbox
    proposals: RuleProposals
    tokens: Tokens
    logins: Logins
    authenticator: Authenticator
    schedules: ScheduleService
    webhooks: WebhookReceiver
    toolset_preview: ToolsetPreview
    decision_preview: DecisionPreview
    agents: AgentStore
    approvals: ApprovalRights
    artifacts: ArtifactStore
    audit: AuditLog
    boards: Boards
    cache: ResultCache
    catalog_sync: CatalogSync
    channels: Channels
    chat_links: ChatLinks
    clock: Clock
    conditions: HealthMonitor
    confirmations: ConfirmationService
    db: SqliteWriter
    executor: Executor
    governance: ToolSettingsRepository
    grants: GrantStore
    hooks: Hooks
    limits: Limiter
    memory: MemoryAdministration
    metrics: Metrics
    chat_listeners: ChannelListeners
    notices: NoticeFeed
    notifications: Notifications
    projects: Projects
    push_keys: VapidKeys
    questions: UserQuestions
    redactor: Redactor
    registry: ToolRegistry
    resolver: Resolver
    rule_sets: RuleSetCache
    rules: RuleStore
    services: Services
    skills: SkillService
    sources: SourceServices
    tickets: OperatorTickets
    triggers: OutboundRequests
    undo: Undo
    uploads: Uploads
    workspaces: Workspaces
    has_model: bool
    started_at: str
    ws_tickets: WsTickets = field(default_factory=WsTickets)
    doctor: Doctor = field(default_factory=Doctor)
    loop_watch: LoopWatch | None = None

    @property
    def database(self) -> Database:
        """Database for queries."""
        return self.reading.database

    @property
    def channel_troubles(self) -> tuple[ChannelTrouble, ...]:
        """Channels that do not deliver notifications, or whose answers do not arrive."""
        return (*self.notifications.sender.troubles, *self.chat_listeners.troubles)

    @property
    def archive(self) -> SessionQueries:
        """Queries over stored sessions."""
        return self.reading.archive

    async def session_for(self, principal: Principal, session_id: str) -> Session:
        """Return a session that the principal may use.

        Raises:
            NotFound: the session does not exist, or the principal may not use it.
        """
        session = await self.sessions.get(session_id)
        if session is None or not principal.may_enter(session):
            raise NotFound(f"Session {session_id!r} not found", session_id=session_id)
        return session
