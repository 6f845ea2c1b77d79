"""Calls that run in a sub-agent's own process: requests and results."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_args

from app.agents.delegation.frames import (
    Execute,
    Executed,
    OutputFrame,
    Reported,
    StopExecution,
    WorkerProtocolError,
)
from app.agents.delegation.ports import WorkerProcess
from app.core.errors import InvalidArguments, ToolFailed
from app.core.ids import call_id
from app.core.text import clean, truncate
from app.execution.streamed_output import StreamedOutput
from app.toolkit.context import Output as LivePiece
from app.toolkit.context import Progress, ToolContext
from app.toolkit.result import RawKind, RawResult, ToolResult

_MAX_CODE = 64
_MAX_MESSAGE = 4000
_MAX_UNIT = 64


@dataclass(frozen=True, slots=True)
class _Execution:
    result: asyncio.Future[Executed]
    context: ToolContext
    live: StreamedOutput | None


class WorkerCalls:
    """`OwnProcess` of one task, without tools until a worker is attached.

    Messages about unknown executions are ignored.
    """

    def __init__(self) -> None:
        self._worker: WorkerProcess | None = None
        self._open: dict[str, _Execution] = {}
        self._stops: set[asyncio.Task[None]] = set()

    @property
    def tools(self) -> frozenset[str]:
        return frozenset() if self._worker is None else self._worker.tools

    def attach(self, worker: WorkerProcess) -> None:
        """Run calls in `worker` from now on."""
        self._worker = worker

    async def execute(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: ToolContext,
        live: StreamedOutput | None,
    ) -> ToolResult:
        """See `OwnProcess.execute`."""
        execution_id = call_id("exe")
        result: asyncio.Future[Executed] = asyncio.get_running_loop().create_future()
        self._open[execution_id] = _Execution(result, context, live)
        frame = Execute(
            execution_id=execution_id,
            tool=tool,
            arguments=dict(arguments),
            tool_call_id=context.tool_call_id,
            operation_id=context.operation_id,
            project_id=context.project_id,
            timeout_s=context.timeout_s,
        )
        try:
            await self._send(frame)
            executed = await result
        except asyncio.CancelledError:
            self._stop(execution_id)
            raise
        finally:
            self._open.pop(execution_id, None)
        return _result_of(executed)

    async def take(self, frame: OutputFrame | Reported | Executed) -> None:
        """Handle a worker's message about an execution."""
        execution = self._open.get(frame.execution_id)
        if execution is None or execution.result.done():
            return
        if isinstance(frame, Executed):
            execution.result.set_result(frame)
        elif isinstance(frame, Reported):
            await execution.context.report(_progress_of(frame))
        elif execution.live is not None:
            await execution.live.write(LivePiece(frame.text, frame.stream))

    def lost(self, why: str) -> None:
        """Fail every active execution after the worker's end."""
        for execution in self._open.values():
            if not execution.result.done():
                execution.result.set_exception(ToolFailed(why, code="worker_lost"))

    async def _send(self, frame: Execute) -> None:
        if self._worker is None:
            raise ToolFailed("The sub-agent has no process", code="worker_lost")
        try:
            await self._worker.send(frame)
        except WorkerProtocolError as error:
            raise ToolFailed(error.message, code="arguments_too_large") from None

    def _stop(self, execution_id: str) -> None:
        """Notify the worker, without waiting for an unresponsive one."""
        stopping = asyncio.ensure_future(self._tell_stop(execution_id))
        self._stops.add(stopping)
        stopping.add_done_callback(self._stops.discard)

    async def _tell_stop(self, execution_id: str) -> None:
        assert self._worker is not None
        with suppress(ToolFailed):
            await self._worker.send(StopExecution(execution_id=execution_id))


def _progress_of(frame: Reported) -> Progress:
    """Return a worker's progress report, limited in size for all listeners."""
    message = None if frame.message is None else truncate(frame.message, _MAX_MESSAGE)
    unit = None if frame.unit is None else truncate(frame.unit, _MAX_UNIT)
    return Progress(frame.stage, message, frame.current, frame.total, unit)


def _result_of(executed: Executed) -> ToolResult:
    """Return a worker's result, restricted to the form that a tool may return."""
    error = None if executed.error is None else clean(executed.error)
    if executed.invalid_arguments:
        raise InvalidArguments(error or "The arguments are invalid")
    raw = executed.raw_result or {}
    known = raw.get("type") in get_args(RawKind) and "data" in raw
    if not executed.success:
        return ToolResult.fail(
            error or "the tool gave no reason for its failure",
            code=truncate(clean(executed.code or "tool_failed"), _MAX_CODE),
            data=executed.data,
            text=executed.text,
        )
    return ToolResult.ok(
        executed.data,
        text=executed.text,
        raw_result=RawResult(raw["type"], raw["data"]) if known else None,
    )
