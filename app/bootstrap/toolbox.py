"""Interface of the original designs to the executor, for code that embeds Tollgate.

    toolbox = Toolbox(runtime, session.log)
    toolbox.execute("calculator", {"expression": "6*7"})   # {"success", "data", "error"}

Every call goes through `Executor.run`, with policy, events and records.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.bootstrap.container import Runtime
from app.catalog.formats import render
from app.core.errors import InvalidInput, TollgateError, ToolNotFound
from app.events.log import SessionLog
from app.execution.calls import parse_call, parse_calls
from app.execution.context import CallContext
from app.execution.outcome import CallOutcome
from app.toolkit.result import ToolResult
from app.toolkit.tool import Tool

StreamEvent = dict[str, Any]
StreamCallback = Callable[[StreamEvent], Awaitable[None] | None]
_MODEL_KEYS = ("model", "max_tokens", "temperature")


class NotStreaming(InvalidInput, ValueError):
    """The tool returns its result as a whole."""

    code = "not_streaming"


class Toolbox:
    """Tools of a runtime, called for one session.

    A `context` is a mapping: `project_id` names the workspace, `model`, `max_tokens` and
    `temperature` are for tools that ask a model, everything else reaches tools as
    `ctx.business`. None of it can come from a model, and without it nothing is injected.

    Args:
        log: event log of the session, which records the calls.
        attended: a client can answer confirmations; otherwise calls that ask are denied.
    """

    def __init__(
        self,
        runtime: Runtime,
        log: SessionLog,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        attended: bool = False,
    ) -> None:
        self._runtime = runtime
        self._base = CallContext(log=log, user_id=user_id, agent_id=agent_id, attended=attended)

    def register(self, tool: Tool, *, replace: bool = False) -> None:
        """Add a tool to the catalog of this process.

        Raises:
            DuplicateTool: its name is in use, and `replace` is not set.
            InvalidTool: it is invalid.
        """
        self._runtime.registry.register(tool, replace=replace)

    def get(self, name: str) -> Tool | None:
        """Return the tool with the name or alias."""
        return self._runtime.registry.get(name)

    def list_all(self) -> list[dict[str, Any]]:
        """Return definitions of the enabled tools, in OpenAI format."""
        tools = self._runtime.registry.snapshot().tools
        names = self._runtime.resolver.resolve(self._base.agent_id).tool_names
        return render([tools[name] for name in names], "openai")

    async def execute(
        self, name: str, args: dict[str, Any], context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run one call: `{"success", "data", "error"}`. Never raises."""
        try:
            request = parse_call({"name": name, "arguments": args})
            outcomes = await self._runtime.executor.run([request], self._context(context))
        except TollgateError as error:
            return ToolResult.fail(error.message, code=error.code).to_dict()
        return outcomes[0].result.to_dict()

    async def process_tool_calls(
        self, calls: Sequence[Any], context: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run the calls of one response in order; return their `role: tool` messages.

        Raises:
            InvalidInput: a call is invalid, or an ID is duplicate. Nothing was run.
            NotFound: the project in `context` does not exist. Nothing was run.
        """
        return await self.process_tool_calls_parallel(calls, context, max_workers=1)

    async def process_tool_calls_parallel(
        self,
        calls: Sequence[Any],
        context: Mapping[str, Any] | None = None,
        max_workers: int | None = None,
    ) -> list[dict[str, Any]]:
        """Like `process_tool_calls`, with up to `max_workers` (1 to 6) concurrent calls; ordered
        results.

        None uses the setting `tool_max_workers`, 4 by default.
        """
        if not calls:
            return []
        workers = None if max_workers is None else max(1, max_workers)
        outcomes = await self._runtime.executor.run(
            parse_calls(calls), self._context(context), max_workers=workers
        )
        return [outcome.tool_message() for outcome in outcomes]

    async def execute_streaming(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        callback: StreamCallback | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[str]:
        """Yield a streaming tool's output as it comes.

        `callback` receives `{"type": "chunk", "data"}` for each piece and finally exactly one
        `{"type": "done", "tool"}`, with `success` false and `error` if the call failed. Leaving the
        iteration early cancels the call.

        Raises:
            ToolNotFound: the tool does not exist.
            NotStreaming: `Tool {name} does not support streaming`; it is a `ValueError`.
        """
        self._check_streams(tool_name)
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        seen = replace(self._context(context), on_output=lambda _, text: pieces.put_nowait(text))
        request = parse_call({"name": tool_name, "arguments": arguments})
        task = asyncio.create_task(self._runtime.executor.run([request], seen))
        task.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                await _tell(callback, {"type": "chunk", "data": piece})
                yield piece
            await _tell(callback, _done(tool_name, task.result()[0]))
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _check_streams(self, tool_name: str) -> None:
        tool = self.get(tool_name)
        if tool is None:
            raise ToolNotFound(f"Tool not found: {tool_name}", tool_name=tool_name)
        if not tool.is_streaming:
            raise NotStreaming(f"Tool {tool_name} does not support streaming", field="tool_name")

    def _context(self, given: Mapping[str, Any] | None) -> CallContext:
        if not given:
            return self._base
        project_id = given.get("project_id")
        known = {"project_id", *_MODEL_KEYS}
        return replace(
            self._base,
            project=None if project_id is None else self._runtime.projects.get(str(project_id)),
            model={key: given[key] for key in _MODEL_KEYS if key in given},
            business={key: value for key, value in given.items() if key not in known},
        )


async def _tell(callback: StreamCallback | None, event: StreamEvent) -> None:
    if callback is not None:
        waiting = callback(event)
        if inspect.isawaitable(waiting):
            await waiting


def _done(tool_name: str, outcome: CallOutcome) -> StreamEvent:
    event: StreamEvent = {"type": "done", "tool": tool_name}
    if not outcome.success:
        event |= {"success": False, "error": outcome.result.error}
    return event
