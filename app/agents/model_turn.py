"""Next model request of a session: its prompt, its context window, and the response."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from app.agents.budget import Budget
from app.agents.context.compaction import Compaction
from app.agents.context.images import with_images
from app.agents.context.overflow import WINDOW_EXCEEDED, is_overflow, refuses_images
from app.agents.context.summariser import Summariser
from app.agents.context.trim import READ_RESULT
from app.agents.context.window import ContextWindow, Fitted
from app.agents.message_stream import MessageStream
from app.agents.model_request import ask
from app.agents.models.protocol import Completed, ModelClient, ModelRequest, TokenUsage
from app.agents.refused_images import IMAGE_ROUNDS, refuse_images, refused_images
from app.agents.sessions import Session, Sessions
from app.agents.turn_input import RunRequestState, TurnInput, TurnInputBuilder
from app.config.settings import Settings
from app.core.errors import ModelFailed
from app.core.loop_pacer import LoopPacer
from app.core.metrics import Metrics
from app.execution.artifacts import ArtifactStore
from app.governance.agents import AgentProfile
from app.resolver.resolver import ResolvedToolset

_LOADED_BYTES = 8 << 20

Message = dict[str, Any]


class ModelTurn:
    """Sends one request after another; the state of a run is in its `RunRequestState`."""

    def __init__(
        self,
        sessions: Sessions,
        model: ModelClient,
        settings: Settings,
        budget: Budget,
        inputs: TurnInputBuilder,
        artifacts: ArtifactStore,
        metrics: Metrics,
    ) -> None:
        self.inputs = inputs
        self._sessions = sessions
        self._model = model
        self._settings = settings
        self._budget = budget
        self._artifacts = artifacts
        self._metrics = metrics
        self._pacer = LoopPacer()

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
        toolset = self.inputs.toolset(asker.agent_id)
        window = self._window(asker, toolset, profile)
        question = await self.inputs.build(asker, messages, toolset, profile)
        # Runs often get their input together, and a request takes milliseconds to send.
        await self._pacer.next()
        fitted = await self._fit(session, asker, messages, question)
        request = await self._request(session, asker, fitted, question, profile)
        completed = await self._first_answer(request, live)
        rounds = 0
        while completed == "images":
            rounds += 1
            refuse_images(self._sessions, session, asker.model, fitted.messages)
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

    async def _fit(
        self,
        session: Session,
        asker: RunRequestState,
        messages: list[Message],
        question: TurnInput,
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
        self._metrics.count("compactions", compaction.method)
        messages[:] = fitted.history

    async def _request(
        self,
        session: Session,
        asker: RunRequestState,
        fitted: Fitted,
        question: TurnInput,
        profile: AgentProfile | None,
    ) -> ModelRequest:
        async def load(artifact_id: str) -> bytes:
            return await self._artifacts.load(
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


def _reminded(messages: list[Message], reminder: dict[str, Any] | None) -> list[Message]:
    """Return the messages with the changing part appended to the last one."""
    if reminder is None or not messages or messages[-1]["role"] != "user":
        return messages
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [*last["content"], reminder]}]
