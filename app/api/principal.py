"""Authenticated principals and their rights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from app.core.errors import Forbidden
from app.domain.owners import Owned
from app.governance.identity.token_rules import DEFAULT_AGENT, SCOPES, groups_of_scopes
from app.governance.identity.tokens import Token
from app.governance.limits import NO_LIMITS, Limits, QuotaSubject

# Authentication method: a created token, the token from the settings, a login with either, or none
# while anonymous access is allowed.
CameBy = Literal["token", "settings_token", "login", "open_house"]
ALL_SCOPES = frozenset(SCOPES)


@dataclass(frozen=True, slots=True)
class Principal:
    """Authenticated user or token. Its rights end with the token or login that its IDs name.

    Attributes:
        agents: allowed agents; None for all.
        projects: allowed projects; None for all.
    """

    user_id: str
    scopes: frozenset[str]
    token_id: str | None = None
    agents: frozenset[str] | None = None
    projects: frozenset[str] | None = None
    limits: Limits = field(default=NO_LIMITS)
    login_id: str | None = None
    came_by: CameBy = "token"

    @property
    def quota_subject(self) -> QuotaSubject:
        """User and token whose limits the principal's runs and calls count against."""
        return QuotaSubject(self.token_id, self.limits, self.user_id)

    @property
    def is_admin(self) -> bool:
        return "admin" in self.scopes

    def may_see(self, owner: str) -> bool:
        """Return whether the principal may see items of `owner`."""
        return self.user_id == owner or self.is_admin

    def may_use_agent(self, agent_id: str | None) -> bool:
        """Return whether sessions of the agent may be used; None is the default agent."""
        return self.agents is None or (agent_id or DEFAULT_AGENT) in self.agents

    def may_use_project(self, project_id: str | None) -> bool:
        """Return whether sessions of the project may be used; None means no project."""
        return self.projects is None or project_id in self.projects

    def may_enter(self, session: Owned) -> bool:
        """Return whether a session exists from this principal's point of view."""
        return (
            self.may_see(session.user_id)
            and self.may_use_agent(session.agent_id)
            and self.may_use_project(session.project_id)
        )

    def holds(self, scope: str) -> bool:
        """Return whether the principal has the scope, or `admin`."""
        return scope in self.scopes or self.is_admin

    @property
    def approver_groups(self) -> frozenset[str]:
        """Return the approver groups that the token belongs to by a scope of its own."""
        return groups_of_scopes(self.scopes)

    @property
    def may_approve(self) -> bool:
        """Return whether the principal may answer any confirmations."""
        return self.holds("approve") or bool(self.approver_groups)

    def require_approver(self) -> None:
        """Raise Forbidden unless the principal may answer any confirmations."""
        if not self.may_approve:
            self.require("approve")

    def require(self, scope: str) -> None:
        """Raise Forbidden unless the principal has the scope, or `admin`."""
        if not self.holds(scope):
            raise Forbidden(f"Requires the scope {scope!r}", scope=scope)

    def require_agent(self, agent_id: str | None) -> None:
        """Raise Forbidden, with the allowed agents, unless the agent may be used."""
        if self.agents is not None and not self.may_use_agent(agent_id):
            allowed = sorted(self.agents)
            raise Forbidden(
                "The token is not allowed to use the agent "
                f"{agent_id or DEFAULT_AGENT!r}; agent_id must be one of "
                f"{', '.join(allowed)}",
                agents=allowed,
            )

    def require_project(self, project_id: str | None) -> None:
        """Raise Forbidden, with the allowed projects, unless the project may be used."""
        if self.projects is not None and not self.may_use_project(project_id):
            allowed = sorted(self.projects)
            raise Forbidden(
                f"The token is not allowed to use the project {project_id!r}; "
                f"project_id must be one of {', '.join(allowed)}",
                projects=allowed,
            )


def holder_of(token: Token, *, login_id: str | None = None) -> Principal:
    """Create the principal of a stored token."""
    return Principal(
        token.name,
        frozenset(token.scopes),
        token.id,
        None if token.agents is None else frozenset(token.agents),
        None if token.projects is None else frozenset(token.projects),
        token.limits,
        login_id,
        "token" if login_id is None else "login",
    )
