"""The agent loop: ask the model, run what it asks for, tell it, until it is done."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from app.agents.history import missing_result, repair
from app.agents.models.protocol import (
    Completed,
    ModelClient,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from app.agents.prompt import system_prompt
from app.agents.sessions import Block, Session, Sessions
from app.agents.writing import LiveMessage
from app.catalog.formats import render
from app.core.errors import InvalidInput, ModelFailed
from app.core.ids import new_id
from app.core.settings import Settings
from app.core.text import clean
from app.events.durable import RunStatus
from app.execution.calls import CallRequest, parse_call
from app.execution.context import CallContext
from app.execution.outcome import CallOutcome
from app.execution.setup import Gate
from app.resolver.resolver import ResolvedToolset

STOPPED = "The run was cancelled before this call finished."


@dataclass(slots=True)
class Turns:
    """What a run of the loop has come to.

    Attributes:
        messages: the conversation as the model reads it; grows with every turn.
        steering: user messages that arrived meanwhile (id, content), for the next turn.
    """

    messages: list[dict[str, Any]]
    usage: Usage = field(default_factory=Usage)
    steering: list[tuple[str, list[Block]]] = field(default_factory=list)
    stop_reason: str | None = None


class AgentLoop:
    """Runs turns for one session at a time; holds no state between runs."""

    def __init__(
        self, gate: Gate, sessions: Sessions, model: ModelClient, settings: Settings
    ) -> None:
        self._gate = gate
        self._sessions = sessions
        self._model = model
        self._settings = settings
        self._tools: tuple[ResolvedToolset, list[dict[str, Any]]] | None = None

    async def run(self, session: Session, run_id: str, turns: Turns) -> RunStatus:
        """Take turns until the model is done or the iteration cap is reached.

        Raises:
            ModelFailed: the provider failed; everything before stays in the session.
        """
        for _ in range(self._settings.max_iterations):
            completed, message_id = await self._ask(session, run_id, turns)
            turns.usage = turns.usage + completed.usage
            turns.stop_reason = completed.stop_reason
            content = list(completed.content)
            if content:
                self._sessions.append(
                    session, "assistant", content, run_id=run_id, entry_id=message_id
                )
                turns.messages.append({"role": "assistant", "content": content})
            if completed.dropped_tool_uses:
                raise ModelFailed(
                    "The model ran out of tokens inside a tool call; nothing of it was run. "
                    "Raise max_tokens (TOLLGATE_MAX_TOKENS).",
                    provider_code="max_tokens_in_tool_call",
                    retryable=False,
                )
            if completed.stop_reason == "refusal":
                return "refused"
            uses = [block for block in content if block.get("type") == "tool_use"]
            if uses:
                await self._act(session, run_id, turns, uses, message_id)
            elif not self._steered(session, run_id, turns):
                return "success"
        return "max_turns"

    async def _ask(self, session: Session, run_id: str, turns: Turns) -> tuple[Completed, str]:
        """One model request, streamed to whoever watches."""
        message_id = new_id("msg")
        head: dict[str, Any] = {"run_id": run_id}
        if session.agent_id:
            head["agent_id"] = session.agent_id
        live = LiveMessage(session.log, head, message_id)
        completed: Completed | None = None
        try:
            async with aclosing(self._model.stream(self._request(session, turns))) as answer:
                async for event in answer:
                    if isinstance(event, Completed):
                        completed = event
                    elif isinstance(event, TextDelta):
                        live.add("text_delta", event.text)
                    elif isinstance(event, ThinkingDelta):
                        live.add("thinking_delta", event.text)
                    else:
                        live.tool_input(event.tool_use_id, event.name, event.partial_json)
        except (asyncio.CancelledError, ModelFailed):
            self._keep_partial(session, run_id, turns, live.text())
            raise
        finally:
            live.close()
        if completed is None:
            raise ModelFailed("The model's answer ended early", provider_code="stream_cut")
        return completed, message_id

    def _request(self, session: Session, turns: Turns) -> ModelRequest:
        toolset = self._gate.resolver.resolve()
        project = self._gate.projects.get(session.project_id) if session.project_id else None
        settings = self._settings
        return ModelRequest(
            model=session.model or settings.model,
            messages=repair(turns.messages),
            max_tokens=settings.max_tokens,
            system=system_prompt(toolset, workspace=project.root if project else None),
            tools=self._definitions(toolset),
            temperature=settings.temperature,
            thinking_budget=settings.thinking_budget or None,
        )

    def _definitions(self, toolset: ResolvedToolset) -> list[dict[str, Any]]:
        """Tool schemas, rendered once per resolved toolset."""
        if self._tools is None or self._tools[0] is not toolset:
            catalog = self._gate.registry.snapshot()
            tools = [catalog.tools[name] for name in toolset.tool_names]
            self._tools = (toolset, render(tools, "anthropic"))
        return self._tools[1]

    def _keep_partial(self, session: Session, run_id: str, turns: Turns, text: str) -> None:
        """What the model had written when it was cut off stays in the session."""
        if text.strip():
            content: list[Block] = [{"type": "text", "text": text}]
            self._sessions.append(session, "assistant", content, run_id=run_id)
            turns.messages.append({"role": "assistant", "content": content})

    async def _act(
        self, session: Session, run_id: str, turns: Turns, uses: list[Block], message_id: str
    ) -> None:
        """Run the calls of one turn together, and answer every one of them."""
        requests = [_request_of(block) for block in uses]
        finished: dict[str, CallOutcome] = {}
        context = self.context(session, run_id, message_id)
        try:
            await self._gate.executor.run(requests, context, finished=finished)
        finally:
            results = [
                finished[use["id"]].tool_result_block()
                if use["id"] in finished
                else missing_result(use["id"], STOPPED)
                for use in uses
            ]
            self._sessions.append(session, "tool", results, run_id=run_id)
            turns.messages.append({"role": "user", "content": results})
        self._steered(session, run_id, turns)
        # What the model is told next must not be lost: its requests build on it.
        await self._gate.ledger.durable()

    def _steered(self, session: Session, run_id: str, turns: Turns) -> bool:
        """Add what the user said meanwhile; whether there was anything."""
        steering, turns.steering = turns.steering, []
        for _, content in steering:
            turns.messages.append({"role": "user", "content": content})
        return bool(steering)

    def context(self, session: Session, run_id: str, message_id: str | None = None) -> CallContext:
        """The call context of this session's agent."""
        settings = self._settings
        return CallContext(
            log=session.log,
            run_id=run_id,
            agent_id=session.agent_id,
            user_id=session.user_id,
            project=self._gate.projects.get(session.project_id) if session.project_id else None,
            caller="agent",
            message_id=message_id,
            model={
                "model": session.model or settings.model,
                "max_tokens": settings.max_tokens,
                "temperature": settings.temperature,
            },
        )


def _request_of(block: Block) -> CallRequest:
    try:
        return parse_call(block)
    except InvalidInput:
        # A provider may use ids or names that we refuse from clients; it still gets an answer.
        return CallRequest(clean(str(block.get("id", ""))), str(block.get("name", "")), "{")


def usage_fields(usage: Usage) -> dict[str, int]:
    """Usage as the events carry it."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_creation_tokens": usage.cache_creation_tokens,
    }
