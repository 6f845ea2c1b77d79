"""Conversation between a sub-agent and the model, stored in the service and not in a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from app.agents.context.estimate import text_tokens
from app.agents.context.images import result_block
from app.agents.context.summariser import Summariser
from app.agents.context.trim import READ_RESULT
from app.agents.context.window import ContextWindow, Fitted
from app.agents.delegation.model import Parent, SubagentTask
from app.agents.delegation.task_model import TaskModel
from app.agents.history import NOT_RUN, missing_result
from app.agents.message_stream import MessageStream
from app.agents.models.failures import cut_in_a_call
from app.agents.models.protocol import Completed, ModelRequest, TokenUsage
from app.agents.sessions import Block
from app.config.settings import Settings
from app.core.errors import ModelFailed
from app.core.ids import new_id
from app.execution.context import Project
from app.execution.outcome import CallOutcome
from app.tools.untrusted import untrusted

_LOADED_BYTES = 8 << 20
_NOT_RUN = "The task ended before this call finished."


class Conversation:
    """Model requests of one sub-agent; the messages are stored in its task."""

    def __init__(
        self,
        model: TaskModel,
        settings: Settings,
        *,
        task: SubagentTask,
        parent: Parent,
        project: Project | None,
        given: str,
    ) -> None:
        """Create a conversation; `given` contains results of tasks that this one depends on."""
        self._model = model
        self._settings = settings
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
        self._model.check(task, parent)
        for text in task.unheard:
            task.messages.append(_said(text))
        task.unheard.clear()
        request, fitted = await self._request(with_tools=with_tools)
        message_id = new_id("msg")
        live = MessageStream(parent.session.log, self._head(), message_id)
        limit_s = self._settings.sub_agent.timeout
        try:
            async with asyncio.timeout(limit_s):
                completed = await self._model.answer(parent.session, request, fitted, live)
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
        prompt = await self._model.prompt(task, self._project)
        self._window.reader = READ_RESULT if prompt.reads_results else None
        overhead = text_tokens(prompt.system) + text_tokens(str(prompt.tools))
        summarise = Summariser(
            self._model.client,
            limits.model,
            max_tokens=limits.max_tokens,
            count=self._spend,
        )
        fitted = await self._window.fit(task.messages, overhead=overhead, summarise=summarise)
        task.messages = fitted.history
        session = self._parent.session
        request = ModelRequest(
            model=limits.model,
            messages=await self._model.messages(session, fitted, limits.model),
            max_tokens=limits.max_tokens,
            system=prompt.system,
            tools=prompt.tools,
            answer_only=not with_tools,
            temperature=limits.temperature,
        )
        return request, fitted

    def _spend(self, model: str, usage: TokenUsage) -> None:
        self._model.spend(self._task, self._parent.session, model, usage)

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
