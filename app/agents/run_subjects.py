"""Subjects of unattended runs: the agent, project and token of a schedule or webhook."""

from __future__ import annotations

from app.execution.projects import Projects
from app.governance.agent_store import AgentStore
from app.governance.identity.tokens import Tokens
from app.governance.limits import QuotaSubject


class RunSubjects:
    """Checks what a stored trigger names before each of its runs."""

    def __init__(self, agents: AgentStore, projects: Projects, tokens: Tokens) -> None:
        self._agents = agents
        self._projects = projects
        self._tokens = tokens

    def check_agent(self, agent_id: str | None) -> None:
        """Check that the agent still exists, if one is named. Raises: NotFound."""
        if agent_id is not None:
            self._agents.require(agent_id)

    def check_project(self, project_id: str | None) -> None:
        """Check that the project still exists, if one is named. Raises: NotFound."""
        if project_id is not None:
            self._projects.about(project_id)

    async def quota_subject(self, token_id: str | None, owner: str) -> QuotaSubject:
        """Return the subject that the run is counted for.

        Raises:
            Unauthenticated: the token is no longer valid.
        """
        if token_id is None:
            return QuotaSubject(user_id=owner)
        token = await self._tokens.holder(token_id)
        return QuotaSubject(token.id, token.limits, owner)
