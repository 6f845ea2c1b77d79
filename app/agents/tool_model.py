"""Service `llm_client`: model requests of tools, counted like the agent's."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from app.agents.budget import Budget, Spending
from app.agents.delegation.service import DelegationService
from app.agents.model_settings import AgentSettings
from app.agents.models.protocol import Completed, ModelClient, ModelRequest
from app.agents.runs import RunService
from app.agents.sessions import Session, Sessions
from app.core.errors import ModelFailed, ToolFailed
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.domain.delegation import DELEGATION
from app.governance.limits import QuotaSubject
from app.toolkit.context import ToolContext, current_context
from app.toolkit.services import Services


class ModelForTools:
    """See `LlmClient`. Secrets of the service are removed from prompts; tokens count for session
    and run.
    """

    def __init__(
        self,
        sessions: Sessions,
        runs: RunService,
        model: ModelClient,
        budget: Budget,
        agents: AgentSettings,
        services: Services,
        redactor: Redactor,
        metrics: Metrics,
    ) -> None:
        self._sessions = sessions
        self._runs = runs
        self._model = model
        self._budget = budget
        self._agents = agents
        self._services = services
        self._redactor = redactor
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()

    async def complete(
        self,
        prompt: str,
        ctx: ToolContext | None = None,
        *,
        system: str = "",
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> dict[str, Any]:
        """See `LlmClient.complete`."""
        ctx = ctx or current_context()
        session = await self._session(ctx)
        assert ctx is not None
        quota_subject, spending = self._account(ctx)
        usual = {**self._agents.model(session, ctx.agent_id).to_dict(), **ctx.model}
        name = str(model or usual["model"])
        self._budget.check(session, model=name, agent_id=ctx.agent_id, quota_subject=quota_subject)
        mask = self._redactor.text
        request = ModelRequest(
            model=name,
            messages=[{"role": "user", "content": [{"type": "text", "text": mask(prompt)}]}],
            system=mask(system),
            max_tokens=usual["max_tokens"] if max_tokens is None else max_tokens,
            temperature=usual["temperature"] if temperature is None else temperature,
        )
        completed = await self._answer(request)
        asked = completed.asked or name
        self._budget.add(session, model=asked, usage=completed.usage, spending=spending)
        self._metrics.count("tool_model_requests", asked)
        texts = [block["text"] for block in completed.content if block.get("type") == "text"]
        return {
            "text": "".join(texts),
            "model": asked,
            "stop_reason": completed.stop_reason,
            "input_tokens": completed.usage.input_tokens,
            "output_tokens": completed.usage.output_tokens,
        }

    def ask(self, prompt: str, **options: Any) -> dict[str, Any]:
        """See `LlmClient.ask`.

        Raises:
            ToolFailed: it is called on the event loop's thread, which it would block.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            ctx = options.pop("ctx", None) or current_context()
            asking = self.complete(prompt, ctx, **options)
            return asyncio.run_coroutine_threadsafe(asking, self._loop).result()
        raise ToolFailed("ask() is only for sync handlers: use `await complete()` here")

    async def _session(self, ctx: ToolContext | None) -> Session:
        if ctx is None:
            raise _no_call()
        session = await self._sessions.get(ctx.session_id) if ctx.session_id else None
        if session is None:
            raise ToolFailed(
                "The model is only available in a session, to which its tokens are charged",
                code="no_session",
            )
        return session

    def _account(self, ctx: ToolContext) -> tuple[QuotaSubject, Spending]:
        """Return the subject and usage that the call is counted for.

        Raises:
            ToolFailed: its run has ended, so the usage cannot be counted.
        """
        run = self._runs.active(ctx.session_id or "")
        if run is not None and run.id == ctx.run_id:
            return run.quota_subject, run.turns.spending if run.turns else run.asked
        delegation = self._services.get(DELEGATION)
        account = (
            delegation.account_of(ctx.run_id) if isinstance(delegation, DelegationService) else None
        )
        if account is None:
            raise _no_call()
        return account

    async def _answer(self, request: ModelRequest) -> Completed:
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                if isinstance(event, Completed):
                    return event
        raise ModelFailed("The model's answer ended early", provider_code="stream_cut")


def _no_call() -> ToolFailed:
    return ToolFailed("The model is only available during a tool call", code="no_call")
