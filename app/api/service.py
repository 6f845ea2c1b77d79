"""Components that the API uses: one object per application."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.agents.database_queries import DatabaseQueries
from app.agents.delegation.service import DelegationService
from app.agents.runs import RunService
from app.agents.schedules.service import ScheduleService
from app.agents.sessions import Session, Sessions
from app.agents.webhooks.receiver import WebhookReceiver
from app.api.auth import Authenticator
from app.api.principal import Principal
from app.api.ws_tickets import WsTickets
from app.catalog.plugins import Plugins
from app.config.settings import Settings
from app.core.errors import NotFound
from app.core.loop_watch import LoopWatch
from app.execution.doctor.examination import Doctor
from app.execution.runtime import Runtime
from app.governance.identity.logins import Logins
from app.governance.identity.tokens import Tokens

if TYPE_CHECKING:
    from app.agents.session_queries import SessionQueries
    from app.db.engine import Database


@dataclass(frozen=True, slots=True)
class Service:
    """The running service. `has_model` is False without a model key."""

    settings: Settings
    runtime: Runtime
    plugins: Plugins
    reading: DatabaseQueries
    sessions: Sessions
    runs: RunService
    delegation: DelegationService
    tokens: Tokens
    logins: Logins
    authenticator: Authenticator
    schedules: ScheduleService
    webhooks: WebhookReceiver
    has_model: bool
    started_at: str
    tickets: WsTickets = field(default_factory=WsTickets)
    doctor: Doctor = field(default_factory=Doctor)
    loop_watch: LoopWatch | None = None

    @property
    def database(self) -> Database:
        """Database for queries."""
        return self.reading.database

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
