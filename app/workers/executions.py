"""Tool executions in a worker, each in a separate task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

import orjson

from app.agents.delegation.frames import (
    MAX_FRAME,
    Execute,
    Executed,
    FromWorker,
    OutputFrame,
    Reported,
    WorkerProtocolError,
    encode,
)
from app.core.error_boundary import ErrorBoundary
from app.core.errors import InvalidArguments, TollgateError
from app.core.text import clean, dump_json
from app.operations.protocols.operations import Operations
from app.toolkit.context import Output as Piece
from app.toolkit.context import Progress, ToolContext
from app.toolkit.result import ToolResult, as_result
from app.toolkit.services import Services
from app.toolkit.tool import Tool

_log = logging.getLogger(__name__)

Send = Callable[[FromWorker], Awaitable[None]]

_BROKEN = "The tool failed inside the worker process; see its log"
_LARGEST_TEXT = MAX_FRAME // 8  # in JSON a character becomes at most six bytes
_CUT = "\n[The result was too large for a worker process and was truncated here.]"
_PIECE = 1 << 16
_LONGEST_STAGE, _LONGEST_MESSAGE = 500, 4000


class Executions:
    """Active executions by ID.

    Args:
        send: sends its frames.
    """

    def __init__(self, tools: Mapping[str, Tool], services: Services, send: Send) -> None:
        self._tools = tools
        self._services = services
        self._send = send
        self._running: dict[str, asyncio.Task[None]] = {}

    def begin(self, frame: Execute, operations: Operations | None) -> None:
        """Run in the background; ends in one `Executed`, or in none if stopped."""
        running = asyncio.create_task(self._run(frame, operations))
        self._running[frame.execution_id] = running
        running.add_done_callback(lambda _: self._running.pop(frame.execution_id, None))

    def stop(self, execution_id: str) -> None:
        """Cancel an execution; no effect if it has ended."""
        running = self._running.get(execution_id)
        if running is not None:
            running.cancel()

    async def _run(self, frame: Execute, operations: Operations | None) -> None:
        with ErrorBoundary() as held:
            result = await self._result(frame, operations)
        executed = (
            _executed(frame.execution_id, result)
            if held.error is None
            else _failed(frame, held.error)
        )
        await self._send(fitting(executed))

    async def _result(self, frame: Execute, operations: Operations | None) -> ToolResult:
        tool = self._tools.get(frame.tool)
        if tool is None:
            return ToolResult.fail(
                f"This worker does not have the tool {frame.tool!r}", code="tool_not_found"
            )
        arguments = tool.validate(dump_json(frame.arguments))
        produced = tool.function(arguments, self._context(frame, operations))
        if tool.is_streaming:
            return await self._drain(frame.execution_id, cast("AsyncIterator[Any]", produced))
        return as_result(await cast("Any", produced))

    def _context(self, frame: Execute, operations: Operations | None) -> ToolContext:
        async def report(progress: Progress) -> None:
            await self._send(_reported(frame.execution_id, progress))

        return ToolContext(
            tool_call_id=frame.tool_call_id,
            operation_id=frame.operation_id,
            project_id=frame.project_id,
            timeout_s=frame.timeout_s,
            services=self._services,
            bound_operations=operations,
            report=report,
        )

    async def _drain(self, execution_id: str, produced: AsyncIterator[Any]) -> ToolResult:
        """Stream a generator's items; the result is its `ToolResult`, or all its output."""
        result: ToolResult | None = None
        printed = ""
        async with aclosing(cast("Any", produced)) as items:
            async for item in items:
                if isinstance(item, ToolResult):
                    result = item
                    continue
                piece = item if isinstance(item, Piece) else Piece(str(item))
                text = clean(piece.text)
                printed += text[: _LARGEST_TEXT - len(printed)]
                for start in range(0, len(text), _PIECE):
                    part = text[start : start + _PIECE]
                    await self._send(
                        OutputFrame(execution_id=execution_id, text=part, stream=piece.stream)
                    )
        return result or ToolResult.ok({"output": printed}, text=printed)


def fitting(executed: Executed) -> Executed:
    """Return it, or as much as fits into a frame, with a note in its text."""
    try:
        encode(executed)
    except WorkerProtocolError:
        # partial structured data would mislead; only text can be truncated
        whole = executed.text or executed.error or dump_json(executed.data).decode()
        error = None if executed.error is None else executed.error[:_PIECE]
        cut = {"data": None, "raw_result": None, "text": whole[:_LARGEST_TEXT] + _CUT}
        return executed.model_copy(update={**cut, "error": error})
    return executed


def _executed(execution_id: str, result: ToolResult) -> Executed:
    raw = result.raw_result
    fields = {
        "data": result.data,
        "error": result.error,
        "code": result.code,
        "text": result.text,
        "raw_result": None if raw is None else raw.to_dict(),
    }
    # a tool may return values that JSON lacks
    plain = orjson.loads(dump_json(fields))
    return Executed(execution_id=execution_id, success=result.success, **plain)


def _failed(frame: Execute, error: BaseException) -> Executed:
    """Return a tool's failure with its message; for a bug, only that there was one."""
    if not isinstance(error, TollgateError):
        _log.error("tool %s failed", frame.tool, exc_info=error)
        return Executed(
            execution_id=frame.execution_id, success=False, error=_BROKEN, code="internal"
        )
    code = str(error.details.get("code", error.code))
    described = ToolResult.fail(error.message, code=code, data=error.details or None)
    executed = _executed(frame.execution_id, described)
    is_invalid = isinstance(error, InvalidArguments)
    return executed.model_copy(update={"invalid_arguments": is_invalid})


def _reported(execution_id: str, progress: Progress) -> Reported:
    return Reported(
        execution_id=execution_id,
        stage=clean(progress.stage)[:_LONGEST_STAGE],
        message=None if progress.message is None else clean(progress.message)[:_LONGEST_MESSAGE],
        current=progress.current,
        total=progress.total,
        unit=progress.unit,
    )
