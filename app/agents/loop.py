"""The agent loop: ask the model, run what it asks for, tell it, until it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.agents.budget import Budget
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
from app.core.errors import InvalidInput, ModelFailed
from app.core.ids import new_id
from app.core.settings import Settings
from app.core.text import clean
from app.events.durable import RunStatus
from app.execution.calls import CallRequest, parse_call
from app.execution.context import CallContext
from app.execution.outcome import CallOutcome
from app.execution.pipeline import Batch
from app.execution.setup import Gate
from app.governance.agents import AgentProfile
from app.governance.limits import NOBODY, Payer
from app.resolver.exposure import definitions_for
from app.toolkit.context import NOTHING
from app.tools.skills.ports import Viewer

Execute = Callable[..., Awaitable[list[CallOutcome]]]
STOPPED = "The run was cancelled before this call finished."


@dataclass(slots=True)
class Turns:
    """What a run of the loop has come to.

    Attributes:
        messages: the conversation as the model reads it; grows with every turn.
        agent_id: whose turns they are; its profile is read anew for each.
        taken: how many there have been.
        steering: user messages that arrived meanwhile (id, content), for the next turn.
        payer: whom its requests and calls are counted for.
        attended: somebody is, or may come to be, there to confirm what asks.
    """

    messages: list[dict[str, Any]]
    agent_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    steering: list[tuple[str, list[Block]]] = field(default_factory=list)
    stop_reason: str | None = None
    taken: int = 0
    payer: Payer = NOBODY
    attended: bool = True

    def progress(self) -> dict[str, Any]:
        """What of it must survive while a call waits for a person."""
        return {
            "usage": usage_fields(self.usage),
            "stop_reason": self.stop_reason,
            "taken": self.taken,
        }


class AgentLoop:
    """Runs turns for one session at a time; holds no state between runs."""

    def __init__(
        self, gate: Gate, sessions: Sessions, model: ModelClient, settings: Settings
    ) -> None:
        self._gate = gate
        self._sessions = sessions
        self._model = model
        self._settings = settings
        self._budget = Budget(gate, settings.model_prices)

    async def run(self, session: Session, run_id: str, turns: Turns) -> RunStatus:
        """Take turns until the model is done or the iteration cap is reached.

        Raises:
            ModelFailed: the provider failed; everything before stays in the session.
            NotFound: the agent was removed, or never was.
            BudgetExceeded: the session has used up its tokens or its money.
        """
        try:
            return await self._take_turns(session, run_id, turns)
        finally:
            self._gate.deferred.forget(run_id)

    async def resume(
        self, session: Session, run_id: str, turns: Turns, uses: list[Block], batch: Batch
    ) -> RunStatus:
        """Go on with a run whose calls waited for a person when its process ended."""
        execute = partial(self._gate.executor.resume, batch)
        await self._answered(session, run_id, turns, uses, execute)
        return await self.run(session, run_id, turns)

    def turns_of(self, agent_id: str | None, progress: Mapping[str, Any]) -> Turns:
        """The turns that `Turns.progress` was written of; their messages stand in the session."""
        usage = Usage(**progress.get("usage", {}))
        return Turns([], agent_id, usage, [], progress.get("stop_reason"), progress.get("taken", 0))

    async def _take_turns(self, session: Session, run_id: str, turns: Turns) -> RunStatus:
        while turns.taken < self._max_iterations(turns):
            turns.taken += 1
            model = self._model_of(session, self._profile(turns))
            self._budget.check(session, model=model, agent_id=turns.agent_id, payer=turns.payer)
            completed, message_id = await self._ask(session, run_id, turns)
            turns.usage = turns.usage + completed.usage
            self._budget.add(session, model=model, usage=completed.usage)
            turns.stop_reason = completed.stop_reason
            content = list(completed.content)
            if content:
                self._sessions.append(
                    session,
                    "assistant",
                    content,
                    run_id=run_id,
                    entry_id=message_id,
                    agent_id=turns.agent_id,
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
        if turns.agent_id:
            head["agent_id"] = turns.agent_id
        live = LiveMessage(session.log, head, message_id)
        completed: Completed | None = None
        skills = await self._gate.skills.told(Viewer(turns.agent_id, session.project_id))
        try:
            async with aclosing(
                self._model.stream(self._request(session, run_id, turns, skills))
            ) as answer:
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

    def _request(self, session: Session, run_id: str, turns: Turns, skills: str) -> ModelRequest:
        profile = self._profile(turns)
        toolset = self._gate.resolver.resolve(turns.agent_id)
        found = self._gate.deferred.shown_to(run_id)
        project = self._gate.projects.get(session.project_id) if session.project_id else None
        settings = self._settings
        return ModelRequest(
            model=self._model_of(session, profile),
            messages=repair(turns.messages),
            max_tokens=self._max_tokens(profile),
            system=system_prompt(
                toolset,
                workspace=project.root if project else None,
                found=found,
                skills=skills,
            ),
            tools=definitions_for(toolset.exposure, found),
            temperature=settings.temperature,
            thinking_budget=settings.thinking_budget or None,
        )

    def _profile(self, turns: Turns) -> AgentProfile | None:
        """The agent as it is now; one that is gone must not go on as nobody in particular."""
        agents = self._gate.agents
        return agents.require(turns.agent_id).profile if turns.agent_id else agents.get(None)

    def _max_iterations(self, turns: Turns) -> int:
        profile = self._profile(turns)
        return (profile and profile.max_iterations) or self._settings.max_iterations

    def _max_tokens(self, profile: AgentProfile | None) -> int:
        return (profile and profile.max_tokens) or self._settings.max_tokens

    def _model_of(self, session: Session, profile: AgentProfile | None) -> str:
        """What the session asked for beats its agent's model, which beats the service's."""
        return session.model or (profile and profile.model) or self._settings.model

    def _keep_partial(self, session: Session, run_id: str, turns: Turns, text: str) -> None:
        """What the model had written when it was cut off stays in the session."""
        if text.strip():
            content: list[Block] = [{"type": "text", "text": text}]
            self._sessions.append(
                session, "assistant", content, run_id=run_id, agent_id=turns.agent_id
            )
            turns.messages.append({"role": "assistant", "content": content})

    async def _act(
        self, session: Session, run_id: str, turns: Turns, uses: list[Block], message_id: str
    ) -> None:
        """Run the calls of one turn together, and answer every one of them."""
        requests = [_request_of(block) for block in uses]
        context = self.context(session, run_id, turns, message_id)
        self._remember_used(run_id, turns, requests)
        execute = partial(self._gate.executor.run, requests, context)
        await self._answered(session, run_id, turns, uses, execute)

    async def _answered(
        self, session: Session, run_id: str, turns: Turns, uses: list[Block], execute: Execute
    ) -> None:
        """Run calls, and answer each of them, unless they are left to the next process."""
        finished: dict[str, CallOutcome] = {}
        try:
            await execute(finished=finished)
        finally:
            self._tell_results(session, run_id, turns, uses, finished)
        self._steered(session, run_id, turns)
        # What the model is told next must not be lost: its requests build on it.
        await self._gate.ledger.durable()

    def _tell_results(
        self,
        session: Session,
        run_id: str,
        turns: Turns,
        uses: list[Block],
        finished: dict[str, CallOutcome],
    ) -> None:
        if not self._gate.parking.is_parked(run_id):
            results = [
                finished[use["id"]].tool_result_block()
                if use["id"] in finished
                else missing_result(use["id"], STOPPED)
                for use in uses
            ]
            self._sessions.append(session, "tool", results, run_id=run_id, agent_id=turns.agent_id)
            turns.messages.append({"role": "user", "content": results})

    def _steered(self, session: Session, run_id: str, turns: Turns) -> bool:
        """Add what the user said meanwhile; whether there was anything."""
        steering, turns.steering = turns.steering, []
        for _, content in steering:
            turns.messages.append({"role": "user", "content": content})
        return bool(steering)

    def _remember_used(self, run_id: str, turns: Turns, requests: list[CallRequest]) -> None:
        """Show a tool that was called by name without having been shown."""
        deferred = self._gate.resolver.resolve(turns.agent_id).exposure.deferred
        if deferred:
            called = (self._gate.registry.get(request.name) for request in requests)
            names = [tool.name for tool in called if tool is not None and tool.name in deferred]
            self._gate.deferred.reveal(run_id, names)

    def context(self, session: Session, run_id: str, turns: Turns, message_id: str) -> CallContext:
        """The call context of this run's agent."""
        profile = self._profile(turns)
        return CallContext(
            log=session.log,
            run_id=run_id,
            agent_id=turns.agent_id,
            user_id=turns.payer.user_id or session.user_id,
            project=self._gate.projects.get(session.project_id) if session.project_id else None,
            caller="agent",
            attended=turns.attended,
            message_id=message_id,
            progress=turns.progress,
            token_id=turns.payer.token_id,
            limits=turns.payer.limits or None,
            business=session.meta.get("business") or NOTHING,
            model={
                "model": self._model_of(session, profile),
                "max_tokens": self._max_tokens(profile),
                "temperature": self._settings.temperature,
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
