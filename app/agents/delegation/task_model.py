"""Model of sub-agents: prompts, requests and their cost, without state between requests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from app.agents.budget import Budget
from app.agents.context.images import with_images
from app.agents.context.overflow import refuses_images
from app.agents.context.trim import READ_RESULT
from app.agents.context.window import Fitted
from app.agents.delegation.model import Parent, SubagentTask
from app.agents.message_stream import MessageStream
from app.agents.model_request import ask
from app.agents.models.protocol import Completed, ModelClient, ModelRequest, TokenUsage
from app.agents.prompt.builder import build_prompt
from app.agents.prompt.facts import Facts
from app.agents.refused_images import IMAGE_ROUNDS, refuse_images, refused_images
from app.agents.sessions import Session, Sessions
from app.core.errors import ModelFailed
from app.domain.skills import SkillViewer
from app.execution.artifacts import ArtifactStore
from app.execution.context import Project
from app.execution.deferred_tools import DeferredTools
from app.knowledge.skills.service import SkillService
from app.resolver.exposure import definitions_for
from app.resolver.resolver import Resolver

_LOADED_BYTES = 8 << 20
_ROLE = (
    "You are a sub-agent named {label!r}. Another agent has delegated a task to you and awaits "
    "your answer, which only it reads. Work only on this task, with at most {rounds} requests. "
    "Answer with the result and what the other agent must know, not with the steps you took. If "
    "you cannot complete the task, say what is missing."
)
_SEEN = (
    "You can access only these folders of the workspace: {folders}. Start every path with one of "
    "them; the workspace root can be neither listed nor searched."
)

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """Prompt of a sub-agent's request.

    Attributes:
        reads_results: the sub-agent may read stored results of its calls.
    """

    system: str
    tools: list[dict[str, Any]]
    reads_results: bool


class TaskModel:
    """Model as sub-agents use it; every request counts for the delegating agent's session."""

    def __init__(
        self,
        client: ModelClient,
        budget: Budget,
        sessions: Sessions,
        resolver: Resolver,
        deferred: DeferredTools,
        skills: SkillService,
        artifacts: ArtifactStore,
    ) -> None:
        self.client = client
        self._budget = budget
        self._sessions = sessions
        self._resolver = resolver
        self._deferred = deferred
        self._skills = skills
        self._artifacts = artifacts

    def check(self, task: SubagentTask, parent: Parent) -> None:
        """Refuse the next request if the session's budget is used up. Raises: BudgetExceeded."""
        self._budget.check(
            parent.session,
            model=task.limits.model,
            agent_id=task.limits.agent_id,
            quota_subject=parent.quota_subject,
        )

    def spend(self, task: SubagentTask, session: Session, model: str, usage: TokenUsage) -> None:
        """Count a request for the session and for the task."""
        self._budget.add(session, model=model, usage=usage, spending=task.spending)

    async def prompt(self, task: SubagentTask, project: Project | None) -> TaskPrompt:
        """Return the prompt and the tools of the next request."""
        limits = task.limits
        toolset = self._resolver.resolve(limits.agent_id, subagent=limits.scope)
        found = self._deferred.shown_to(task.run_id)
        # A sub-agent with a restricted workspace does not see skills in the rest of it.
        seen_project = None if project is None or limits.roots else project.id
        skills = await self._skills.prompt(SkillViewer(limits.agent_id, seen_project))
        facts = Facts(root=project.root if project else None, skills=skills)
        parts = (
            build_prompt(toolset, facts, found=found).system,
            _ROLE.format(label=task.spec.label, rounds=limits.max_rounds),
            _SEEN.format(folders=", ".join(limits.roots)) if limits.roots else "",
            task.spec.instructions,
        )
        return TaskPrompt(
            "\n\n".join(part for part in parts if part),
            definitions_for(toolset.exposure, found),
            READ_RESULT in toolset.tool_names,
        )

    async def messages(self, session: Session, fitted: Fitted, model: str) -> list[Message]:
        """Return the messages of a request, with the images that the provider accepts."""

        async def load(artifact_id: str) -> bytes:
            return await self._artifacts.load(
                artifact_id, session_id=session.id, max_bytes=_LOADED_BYTES
            )

        refused = refused_images(session, model)
        return await with_images(fitted.messages, load, refused=refused)

    async def answer(
        self, session: Session, request: ModelRequest, fitted: Fitted, live: MessageStream
    ) -> Completed:
        """Return the response; images that the provider rejects are omitted from then on.

        Raises:
            ModelFailed: the provider failed.
        """
        for _ in range(IMAGE_ROUNDS):
            try:
                return await ask(self.client, request, live)
            except ModelFailed as error:
                if live.text() or not refuses_images(error, request.messages):
                    raise
            refuse_images(self._sessions, session, request.model, fitted.messages)
            messages = await self.messages(session, fitted, request.model)
            request = replace(request, messages=messages)
        return await ask(self.client, request, live)
