"""Next model request of a session: its prompt, its context window, and the response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from app.agents.budget import Budget, Spending
from app.agents.context.compaction import Compaction
from app.agents.context.estimate import text_tokens
from app.agents.context.images import with_images
from app.agents.context.overflow import WINDOW_EXCEEDED, is_overflow, refuses_images
from app.agents.context.summariser import Summariser
from app.agents.context.trim import READ_RESULT
from app.agents.context.window import ContextWindow, Fitted
from app.agents.message_stream import MessageStream
from app.agents.model_request import ask
from app.agents.models.protocol import Completed, ModelClient, ModelRequest, TokenUsage
from app.agents.prompt.builder import Prompt, build_prompt
from app.agents.prompt.facts import FactFinder, FactSubject, RunFacts
from app.agents.refused_images import IMAGE_ROUNDS, refuse_images, refused_images
from app.agents.sessions import Session, Sessions
from app.config.settings import Settings
from app.core.errors import ModelFailed
from app.execution.runtime import Runtime
from app.governance.agents import AgentProfile, SubagentScope
from app.resolver.exposure import definitions_for
from app.resolver.resolver import ResolvedToolset

_LOADED_BYTES = 8 << 20
_NO_TOOLS = SubagentScope(frozenset())

Message = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class RunRequestState:
    """Requester: one run of an agent in a session.

    Attributes:
        user_id: user whose memory is included.
        spending: total usage of the requests.
        model, max_tokens, temperature: settings of the next request.
        tools_enabled: whether the model may call tools.
        window: created at the first request.
        known: facts valid for the whole run.
    """

    run_id: str
    agent_id: str | None
    user_id: str | None
    spending: Spending
    model: str = ""
    max_tokens: int = 1
    temperature: float | None = None
    tools_enabled: bool = True
    window: ContextWindow | None = None
    known: RunFacts = field(default_factory=RunFacts)


@dataclass(frozen=True, slots=True)
class _TurnInput:
    """Parts of a request, except its messages.

    `answer_only`: tools are included only because providers require them for earlier calls.
    """

    prompt: Prompt
    tools: list[dict[str, Any]]
    overhead: int
    answer_only: bool = False


class ModelTurn:
    """Sends one request after another; the state of a run is in its `RunRequestState`."""

    def __init__(
        self,
        runtime: Runtime,
        sessions: Sessions,
        model: ModelClient,
        settings: Settings,
        budget: Budget,
    ) -> None:
        self._runtime = runtime
        self._sessions = sessions
        self._model = model
        self._settings = settings
        self._budget = budget
        self._facts = FactFinder(runtime)

    async def ask(
        self,
        session: Session,
        asker: RunRequestState,
        messages: list[Message],
        live: MessageStream,
        profile: AgentProfile | None,
    ) -> Completed:
        """Return the model's response to `messages`, which are shortened in place if necessary.

        Raises:
            ModelFailed: the provider failed, or refuses even the shortened conversation.
            ContextFull: the required part does not fit into the budget.
        """
        toolset = self._runtime.resolver.resolve(asker.agent_id)
        window = self._window(asker, toolset, profile)
        question = await self._question(session, asker, messages, toolset, profile)
        fitted = await self._fit(session, asker, messages, question)
        request = await self._request(session, asker, fitted, question, profile)
        completed = await self._first_answer(request, live)
        rounds = 0
        while completed == "images":
            rounds += 1
            refuse_images(session, self._runtime.db, asker.model, fitted.messages)
            request = await self._request(session, asker, fitted, question, profile)
            completed = await self._first_answer(request, live, last=rounds == IMAGE_ROUNDS)
        if not isinstance(completed, Completed) or completed.stop_reason == WINDOW_EXCEEDED:
            if isinstance(completed, Completed):
                self._count(session, asker, completed.asked or asker.model, completed.usage)
            fitted = await self._fit(session, asker, messages, question, overflowed=True)
            request = await self._request(session, asker, fitted, question, profile)
            completed = await ask(self._model, request, live)
        window.learn(fitted, completed.usage)
        return completed

    async def _first_answer(
        self, request: ModelRequest, live: MessageStream, *, last: bool = False
    ) -> Completed | Literal["length", "images"]:
        """Return the response, or the reason for a refusal that a changed request may avoid.

        Args:
            last: images have already been omitted.
        """
        try:
            return await ask(self._model, request, live)
        except ModelFailed as error:
            if not live.text() and is_overflow(error):
                return "length"
            if not (last or live.text()) and refuses_images(error, request.messages):
                return "images"
            raise

    def _window(
        self, asker: RunRequestState, toolset: ResolvedToolset, profile: AgentProfile | None
    ) -> ContextWindow:
        """Return the run's window, with its agent's current size."""
        budget = (profile and profile.context_tokens) or self._settings.context_tokens
        if asker.window is None:
            asker.window = ContextWindow(budget)
        asker.window.budget = budget
        # Under the name that the agent's model knows.
        reader = toolset.exposure.definitions.get(READ_RESULT)
        asker.window.reader = reader["name"] if reader else None
        return asker.window

    async def _question(
        self,
        session: Session,
        asker: RunRequestState,
        messages: Sequence[Message],
        toolset: ResolvedToolset,
        profile: AgentProfile | None,
    ) -> _TurnInput:
        found = self._runtime.deferred.shown_to(asker.run_id)
        offered = toolset
        if not asker.tools_enabled:
            found, offered = (), self._runtime.resolver.resolve(asker.agent_id, subagent=_NO_TOOLS)
        without = left_out(self._settings, profile)
        subject = FactSubject(
            agent_id=asker.agent_id,
            tools=offered.tool_names,
            user_id=asker.user_id,
            project=self._runtime.projects.get(session.project_id) if session.project_id else None,
            session_id=session.id,
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
        return _TurnInput(prompt, shown, prompt.tokens + schemas, answer_only)

    async def _fit(
        self,
        session: Session,
        asker: RunRequestState,
        messages: list[Message],
        question: _TurnInput,
        *,
        overflowed: bool = False,
    ) -> Fitted:
        assert asker.window is not None
        summarise = Summariser(
            self._model,
            asker.model,
            max_tokens=asker.max_tokens,
            count=partial(self._count, session, asker),
        )
        fitted = await asker.window.fit(
            messages, overhead=question.overhead, summarise=summarise, overflowed=overflowed
        )
        if fitted.compaction is not None:
            self._keep(session, asker, messages, fitted, fitted.compaction)
        return fitted

    def _keep(
        self,
        session: Session,
        asker: RunRequestState,
        messages: list[Message],
        fitted: Fitted,
        compaction: Compaction,
    ) -> None:
        """Store a summary, and continue with the shorter conversation."""
        first_kept = messages[compaction.keeps_from].get("id")
        if first_kept is not None:
            self._sessions.summarise(
                session,
                compaction.block(first_kept),
                run_id=asker.run_id,
                agent_id=asker.agent_id,
                replaced=compaction.replaced,
                tokens=(compaction.tokens_before, compaction.tokens_after),
            )
        self._runtime.metrics.count("compactions", compaction.method)
        messages[:] = fitted.history

    async def _request(
        self,
        session: Session,
        asker: RunRequestState,
        fitted: Fitted,
        question: _TurnInput,
        profile: AgentProfile | None,
    ) -> ModelRequest:
        async def load(artifact_id: str) -> bytes:
            return await self._runtime.artifacts.load(
                artifact_id, session_id=session.id, max_bytes=_LOADED_BYTES
            )

        messages = await with_images(
            fitted.messages, load, refused=refused_images(session, asker.model)
        )
        budget, adaptive = thinking_of(self._settings, profile)
        prompt, chosen = question.prompt, self._settings
        return ModelRequest(
            model=asker.model,
            messages=_reminded(messages, prompt.reminder),
            max_tokens=asker.max_tokens,
            system=prompt.system,
            shared_system=prompt.shared_system,
            tools=question.tools,
            answer_only=question.answer_only,
            temperature=asker.temperature,
            thinking_budget=budget,
            adaptive_thinking=adaptive,
            effort=(profile and profile.effort) or chosen.effort,
        )

    def _count(
        self, session: Session, asker: RunRequestState, model: str, usage: TokenUsage
    ) -> None:
        """Count a request whose response is not a message of the session."""
        self._budget.add(session, model=model, usage=usage, spending=asker.spending)


def thinking_of(settings: Settings, profile: AgentProfile | None) -> tuple[int | None, bool]:
    """Return the thinking budget, and whether the model decides itself; at most one is set."""
    chosen: Settings | AgentProfile = settings
    if profile and (profile.thinking_budget, profile.adaptive_thinking) != (None, None):
        chosen = profile
    adaptive = bool(chosen.adaptive_thinking)
    return (None if adaptive else chosen.thinking_budget or None), adaptive


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


def _reminded(messages: list[Message], reminder: dict[str, Any] | None) -> list[Message]:
    """Return the messages with the changing part appended to the last one."""
    if reminder is None or not messages or messages[-1]["role"] != "user":
        return messages
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [*last["content"], reminder]}]
