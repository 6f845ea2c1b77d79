"""Conversation between a sub-agent and the model, stored in the service and not in a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from app.agents.budget import Budget
from app.agents.context.estimate import text_tokens
from app.agents.context.images import result_block, with_images
from app.agents.context.overflow import refuses_images
from app.agents.context.summariser import Summariser
from app.agents.context.trim import READ_RESULT
from app.agents.context.window import ContextWindow, Fitted
from app.agents.delegation.model import Parent, SubagentTask
from app.agents.history import NOT_RUN, missing_result
from app.agents.message_stream import MessageStream
from app.agents.model_request import ask
from app.agents.models.failures import cut_in_a_call
from app.agents.models.protocol import Completed, ModelClient, ModelRequest, TokenUsage
from app.agents.prompt.builder import build_prompt
from app.agents.prompt.facts import Facts
from app.agents.refused_images import IMAGE_ROUNDS, refuse_images, refused_images
from app.agents.sessions import Block
from app.config.settings import Settings
from app.core.errors import ModelFailed
from app.core.ids import new_id
from app.domain.skills import SkillViewer
from app.execution.context import Project
from app.execution.outcome import CallOutcome
from app.execution.runtime import Runtime
from app.resolver.exposure import definitions_for
from app.tools.untrusted import untrusted

_LOADED_BYTES = 8 << 20
_NOT_RUN = "The task ended before this call finished."
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


class Conversation:
    """Model requests of one sub-agent; the messages are stored in its task."""

    def __init__(
        self,
        runtime: Runtime,
        model: ModelClient,
        settings: Settings,
        *,
        task: SubagentTask,
        parent: Parent,
        project: Project | None,
        given: str,
    ) -> None:
        """Create a conversation; `given` contains results of tasks that this one depends on."""
        self._runtime = runtime
        self._model = model
        self._settings = settings
        self._budget = Budget(runtime, settings.model_prices)
        self._task = task
        self._parent = parent
        self._project = project
        self._window = ContextWindow(settings.context_tokens)
        if not task.messages:
            goal = f"{task.spec.goal}\n\n{given}" if given else task.spec.goal
            task.messages.append(_said(goal))

    async def ask(self, *, with_tools: bool) -> tuple[Completed, str]:
        """Return the next response, counted for the delegating agent's session, and its message ID.

        Raises:
            ModelFailed: the provider failed, took too long, or was cut off in a call.
            BudgetExceeded: the session's budget is used up.
            ContextFull: the required part does not fit into one request.
        """
        task, parent = self._task, self._parent
        limits = task.limits
        self._budget.check(
            parent.session,
            model=limits.model,
            agent_id=limits.agent_id,
            quota_subject=parent.quota_subject,
        )
        for text in task.unheard:
            task.messages.append(_said(text))
        task.unheard.clear()
        request, fitted = await self._request(with_tools=with_tools)
        message_id = new_id("msg")
        live = MessageStream(parent.session.log, self._head(), message_id)
        limit_s = self._settings.sub_agent.timeout
        try:
            async with asyncio.timeout(limit_s):
                completed = await self._answer(request, fitted, live)
        except TimeoutError:
            raise ModelFailed(
                f"The model did not answer within {limit_s} s; see sub_agent.timeout",
                provider_code="timeout",
            ) from None
        finally:
            live.close()
            task.response = live.text() or task.response
        self._window.learn(fitted, completed.usage)
        self._count(completed)
        return completed, message_id

    async def _answer(
        self, request: ModelRequest, fitted: Fitted, live: MessageStream
    ) -> Completed:
        """Return the response; images that the provider rejects are omitted from then on."""
        for _ in range(IMAGE_ROUNDS):
            try:
                return await ask(self._model, request, live)
            except ModelFailed as error:
                if live.text() or not refuses_images(error, request.messages):
                    raise
            session, db = self._parent.session, self._runtime.db
            refuse_images(session, db, request.model, fitted.messages)
            request = replace(request, messages=await self._messages(fitted, request.model))
        return await ask(self._model, request, live)

    def answered(self, uses: list[Block], finished: dict[str, CallOutcome]) -> None:
        """Add the results of a round's calls: one per call."""
        results = [
            result_block(finished[use["id"]])
            if use["id"] in finished
            else missing_result(use["id"], NOT_RUN if self._task.is_left else _NOT_RUN)
            for use in uses
        ]
        self._task.messages.append({"role": "user", "content": results})

    def _count(self, completed: Completed) -> None:
        task = self._task
        self._spend(completed.asked or task.limits.model, completed.usage)
        content = list(completed.content)
        if content:
            task.messages.append({"role": "assistant", "content": content})
        text = "".join(block["text"] for block in content if block.get("type") == "text")
        task.response = text or task.response
        if completed.stop_reason == "refusal":
            raise ModelFailed(
                "The model refused the task", provider_code="refusal", retryable=False
            )
        if completed.dropped_tool_uses:
            raise cut_in_a_call(completed)

    async def _request(self, *, with_tools: bool) -> tuple[ModelRequest, Fitted]:
        task, limits = self._task, self._task.limits
        toolset = self._runtime.resolver.resolve(limits.agent_id, subagent=limits.scope)
        found = self._runtime.deferred.shown_to(task.run_id)
        # A sub-agent with a restricted workspace does not see skills in the rest of it.
        sees_all = self._project is not None and not limits.roots
        skills = await self._runtime.skills.prompt(
            SkillViewer(limits.agent_id, self._project.id if self._project and sees_all else None)
        )
        facts = Facts(root=self._project.root if self._project else None, skills=skills)
        system = build_prompt(toolset, facts, found=found).system
        role = _ROLE.format(label=task.spec.label, rounds=limits.max_rounds)
        seen = _SEEN.format(folders=", ".join(limits.roots)) if limits.roots else ""
        system_text = "\n\n".join(
            part for part in (system, role, seen, task.spec.instructions) if part
        )
        tools = definitions_for(toolset.exposure, found)
        self._window.reader = READ_RESULT if READ_RESULT in toolset.tool_names else None
        overhead = text_tokens(system_text) + text_tokens(str(tools))
        summarise = Summariser(
            self._model,
            limits.model,
            max_tokens=limits.max_tokens,
            count=self._spend,
        )
        fitted = await self._window.fit(task.messages, overhead=overhead, summarise=summarise)
        task.messages = fitted.history
        request = ModelRequest(
            model=limits.model,
            messages=await self._messages(fitted, limits.model),
            max_tokens=limits.max_tokens,
            system=system_text,
            tools=tools,
            answer_only=not with_tools,
            temperature=limits.temperature,
        )
        return request, fitted

    async def _messages(self, fitted: Fitted, model: str) -> list[dict[str, Any]]:
        refused = refused_images(self._parent.session, model)
        return await with_images(fitted.messages, self._load, refused=refused)

    def _spend(self, model: str, usage: TokenUsage) -> None:
        """Count a request for the delegating agent's session, and for the task."""
        session, spending = self._parent.session, self._task.spending
        self._budget.add(session, model=model, usage=usage, spending=spending)

    async def _load(self, artifact_id: str) -> bytes:
        return await self._runtime.artifacts.load(
            artifact_id, session_id=self._parent.session.id, max_bytes=_LOADED_BYTES
        )

    def _head(self) -> dict[str, Any]:
        head: dict[str, Any] = {"run_id": self._task.run_id}
        if self._task.limits.agent_id:
            head["agent_id"] = self._task.limits.agent_id
        return head


def answers_of(tasks: Iterable[SubagentTask]) -> str:
    """Return the results of the tasks that a task depends on."""
    return "\n\n".join(
        f"Answer of {task.spec.label!r}:\n{untrusted(task.response, task.spec.label)}"
        for task in tasks
    )


def _said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}
