"""Input of a model request, except its messages: prompt and tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agents.budget import Spending
from app.agents.context.estimate import text_tokens
from app.agents.context.window import ContextWindow
from app.agents.prompt.builder import Prompt, build_prompt
from app.agents.prompt.facts import FactFinder, FactSubject, RunFacts
from app.catalog.registry import ToolRegistry
from app.config.settings import Settings
from app.execution.context import Project
from app.execution.deferred_tools import DeferredTools
from app.governance.agents import AgentProfile, SubagentScope
from app.resolver.exposure import definitions_for
from app.resolver.resolver import ResolvedToolset, Resolver

_NO_TOOLS = SubagentScope(frozenset())

Message = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class RunRequestState:
    """Requester: one run of an agent in a session.

    Attributes:
        user_id: user whose memory is included.
        spending: total usage of the requests.
        project: project of the session.
        model, max_tokens, temperature: settings of the next request.
        tools_enabled: whether the model may call tools.
        window: created at the first request.
        known: facts valid for the whole run.
    """

    run_id: str
    session_id: str
    agent_id: str | None
    user_id: str | None
    spending: Spending
    project: Project | None = None
    model: str = ""
    max_tokens: int = 1
    temperature: float | None = None
    tools_enabled: bool = True
    window: ContextWindow | None = None
    known: RunFacts = field(default_factory=RunFacts)


@dataclass(frozen=True, slots=True)
class TurnInput:
    """Parts of a request, except its messages.

    Attributes:
        tools: definitions of the tools that the model sees.
        overhead: estimated tokens of prompt and tools.
        answer_only: tools are included only because providers require them for earlier calls.
    """

    prompt: Prompt
    tools: list[dict[str, Any]]
    overhead: int
    answer_only: bool = False


class TurnInputBuilder:
    """Builds the prompt, and chooses the tools that a run sees."""

    def __init__(
        self,
        registry: ToolRegistry,
        resolver: Resolver,
        deferred: DeferredTools,
        facts: FactFinder,
        settings: Settings,
    ) -> None:
        self._registry = registry
        self._resolver = resolver
        self._deferred = deferred
        self._facts = facts
        self._settings = settings

    def toolset(self, agent_id: str | None) -> ResolvedToolset:
        """Return the tools of an agent."""
        return self._resolver.resolve(agent_id)

    async def build(
        self,
        asker: RunRequestState,
        messages: Sequence[Message],
        toolset: ResolvedToolset,
        profile: AgentProfile | None,
    ) -> TurnInput:
        """Return the input of the next request of a run."""
        found = self._deferred.shown_to(asker.run_id)
        offered = toolset
        if not asker.tools_enabled:
            found, offered = (), self._resolver.resolve(asker.agent_id, subagent=_NO_TOOLS)
        without = left_out(self._settings, profile)
        subject = FactSubject(
            agent_id=asker.agent_id,
            tools=offered.tool_names,
            user_id=asker.user_id,
            project=asker.project,
            session_id=asker.session_id,
            question=_last_words(messages),
        )
        facts = await self._facts.find(subject, asker.known, without=without)
        prompt = build_prompt(offered, facts, found=found, without=without)
        answer_only = offered is not toolset and _has_calls(messages)
        exposure = (toolset if answer_only else offered).exposure
        shown, schemas = definitions_for(exposure, found), exposure.visible_tokens
        if found:
            more = shown[len(exposure.visible) :]
            schemas += text_tokens(str(more))
        return TurnInput(prompt, shown, prompt.tokens + schemas, answer_only)

    def remember_used(self, run_id: str, agent_id: str | None, names: Iterable[str]) -> None:
        """Show tools that a run called by name without having been shown."""
        deferred = self._resolver.resolve(agent_id).exposure.deferred
        if deferred:
            called = (self._registry.get(name) for name in names)
            found = [tool.name for tool in called if tool is not None and tool.name in deferred]
            self._deferred.reveal(run_id, found)

    def forget(self, run_id: str) -> None:
        """Discard what a finished run was shown."""
        self._deferred.forget(run_id)


def left_out(settings: Settings, profile: AgentProfile | None) -> frozenset[str]:
    """Prompt parts that are omitted for this agent."""
    chosen = profile.prompt_exclude if profile else None
    return frozenset(settings.prompt_exclude if chosen is None else chosen)


def _last_words(messages: Sequence[Message]) -> str:
    """Return the last user message."""
    for message in reversed(messages):
        if message["role"] != "user" or message.get("direct"):
            continue
        texts = [block["text"] for block in message["content"] if block.get("type") == "text"]
        if texts:
            return "\n".join(texts)
    return ""


def _has_calls(messages: Sequence[Message]) -> bool:
    return any(
        block.get("type") in ("tool_use", "tool_result")
        for message in messages
        for block in message["content"]
    )
