"""Step 7: run the tool's function, with a deadline, live output and progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from app.core.clock import Clock
from app.core.error_boundary import ErrorBoundary
from app.core.errors import InvalidArguments, TollgateError
from app.core.ids import new_id
from app.core.loop_watch import BlockedTheLoop, foreign
from app.core.machine_limits import overload_of
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter
from app.events.durable import CallStatus
from app.execution.artifacts import Spool
from app.execution.call import CallState, PartialOutput
from app.execution.checkpoints.store import ChangeOrigin
from app.execution.checkpoints.watched_files import WorkspaceWatch
from app.execution.context import Project
from app.execution.deadline import Deadlines
from app.execution.operation_logs import OperationLogs
from app.execution.progress import ProgressReporter
from app.execution.streamed_output import StreamedOutput
from app.operations.protocols.operations import Operations
from app.toolkit.context import Output, Progress, ToolContext
from app.toolkit.ports import NOT_HERE
from app.toolkit.result import ToolResult, as_result
from app.toolkit.services import Services
from app.toolkit.tool import Tool

log = logging.getLogger(__name__)

TIMEOUT_CODE = "timeout"
_UNFINISHED = ToolResult.fail("the tool did not finish")


@dataclass(slots=True)
class ToolExecution:
    """How a tool's function ended, or how far it has come.

    Attributes:
        live: what it printed on the way.
        is_replaced: the result comes from a hook, possibly in another format than the tool's.
        is_withheld: post hooks have not passed the output yet.
    """

    status: CallStatus = "error"
    result: ToolResult = _UNFINISHED
    seconds: float = 0.0
    live: StreamedOutput | None = None
    spool: Spool | None = None
    is_replaced: bool = False
    is_withheld: bool = False

    def partial(self) -> PartialOutput:
        """Return how far it had come when it was stopped."""
        if self.live is None or self.is_replaced or self.is_withheld:
            return PartialOutput(self.seconds)
        return PartialOutput(self.seconds, self.live.text(), self.live.chunks, self.live.size)

    def replace(self, result: ToolResult) -> None:
        """Set a post hook's result; the original output must not appear in a file."""
        self.result, self.is_replaced = result, True
        if self.status in ("success", "error"):
            self.status = "success" if result.success else "error"
        self.let_go()

    def let_go(self) -> None:
        """Remove spooled output that has not become an artifact."""
        if self.spool is not None:
            self.spool.discard()
            self.spool = None


class ToolRunner:
    """Runs admitted calls; the only caller of tool functions."""

    def __init__(
        self,
        *,
        services: Services,
        clock: Clock,
        redactor: Redactor,
        spool_dir: Path,
        logs: OperationLogs,
        db: DatabaseWriter,
        timeout_s: float,
        workspace_watch: WorkspaceWatch,
    ) -> None:
        self._written = workspace_watch.written
        self._workspace_watch = workspace_watch
        self._created = workspace_watch.created
        self._services = services
        self._clock = clock
        self._redactor = redactor
        self._spool_dir = spool_dir
        self._logs = logs
        self._db = db
        self._timeout_s = timeout_s
        self._deadlines = Deadlines()

    async def run(self, call: CallState, ran: ToolExecution) -> None:
        """Run the call; raises only on external cancellation.

        A tool's failure, a bug in it, and its deadline all end in `ran`.
        """
        tool = call.tool
        assert tool is not None
        progress = _LazyProgress(self, call)
        context = self._context(call, progress)
        if tool.is_streaming:
            ran.spool = Spool(self._spool_dir)
            ran.live = self._live(call, ran.spool)
        assert call.task is not None
        seconds = call.setting.timeout_s or self._timeout_s
        fresh = self._begin(call, tool)
        started = self._clock.monotonic()
        deadline = self._deadlines.begin(call.task, seconds)
        try:
            ran.status, ran.result = await self._guarded(tool, call, context, ran.live)
            deadline.ended()
        except asyncio.CancelledError:
            if ran.live is not None:
                ran.live.finish()
            if not deadline.absorb():
                raise
            ran.status, ran.result = "timeout", _timed_out(tool, seconds, ran.live)
        finally:
            deadline.stop()
            if ran.live is not None:
                ran.live.finish()
                del call.context.log.live[call.operation_id]
            ran.seconds = self._clock.monotonic() - started
            progress.finish(failed=ran.status != "success")
            self._end(call, tool)
        if fresh:
            session_id = call.context.session_id or ""
            await asyncio.to_thread(self._created.note_new, session_id, fresh)

    def _begin(self, call: CallState, tool: Tool) -> list[str]:
        """Record the start, so that later writes are attributed to the call."""
        project = call.context.project
        if project is None or not tool.has_side_effects:
            return []
        self._written.begin(project)
        judged = call.decision.judged if call.decision is not None else ()
        if judged and call.asked is not None:
            self._written.accept(project.root, call.command_key, judged)
        return self._created.missing(call.writes)

    def _end(self, call: CallState, tool: Tool) -> None:
        project = call.context.project
        if project is not None and tool.has_side_effects:
            self._written.end(project, call.writes)

    async def _guarded(
        self, tool: Tool, call: CallState, context: ToolContext, live: StreamedOutput | None
    ) -> tuple[CallStatus, ToolResult]:
        """Run the tool; the one place that handles a tool's exceptions."""
        assert call.prepared is not None
        result = _UNFINISHED
        around = nullcontext() if tool.source == "builtin" else foreign(f"tool {tool.name}")
        with ErrorBoundary(call.task) as held, around, context.as_current():
            if call.context.subagent is not None and call.route == "worker-local":
                result = await _in_own_process(call, context, live)
                if result.code != NOT_HERE:
                    return ("success" if result.success else "error"), result
            produced: Any = tool.function(call.prepared.validated, context)
            if live is not None:
                result = await _drain(produced, live)
            else:
                result = as_result(await produced)
        if held.error is not None:
            return _broken(tool, held.error)
        if result.success:
            return "success", result
        return ("timeout" if result.code == TIMEOUT_CODE else "error"), result

    def _live(self, call: CallState, spool: Spool) -> StreamedOutput:
        """Open the live output of the call for all subscribers."""
        context = call.context
        live = StreamedOutput(context.log, call.head(), spool, self._redactor, context.on_output)
        context.log.live[call.operation_id] = live
        return live

    def _context(self, call: CallState, progress: _LazyProgress) -> ToolContext:
        context, project = call.context, call.context.project
        return ToolContext(
            tool_call_id=call.request.id,
            operation_id=call.operation_id,
            session_id=context.session_id,
            run_id=context.run_id,
            agent_id=context.agent_id,
            user_id=context.user_id,
            token_id=context.quota_subject.token_id,
            project_id=project.id if project else None,
            subagent_id=context.subagent.task_id if context.subagent else None,
            kept_cwd=call.kept_cwd,
            approved=call.decision.approved if call.decision else frozenset(),
            timeout_s=call.setting.timeout_s or self._timeout_s,
            model=context.model,
            business=context.business,
            services=self._services,
            bound_operations=self._operations(call, project) if project else None,
            report=progress.report,
        )

    def _operations(self, call: CallState, project: Project) -> Operations:
        """Return the workspace's operations for this call; overwritten files can be restored."""
        run_id = call.context.run_id or call.operation_id
        origin = ChangeOrigin(call.context.session_id, run_id, project.id, call.operation_id)
        return self._workspace_watch.operations(project, origin)

    def redacted(self, progress: Progress) -> Progress:
        """Return a report without secrets."""
        stage, message = self._redactor.secrets_in([progress.stage, progress.message])
        return replace(progress, stage=stage, message=message)

    def reporter(self, call: CallState) -> ProgressReporter:
        """Return the progress reporter of the call."""
        return ProgressReporter(
            *(call.context.log, call.head(), call.tool_name),
            logs=self._logs,
            db=self._db,
            clock=self._clock,
        )


class _LazyProgress:
    """Creates a reporter at the first report; most tools never report."""

    __slots__ = ("_call", "_is_over", "_reporter", "_runner")

    def __init__(self, runner: ToolRunner, call: CallState) -> None:
        self._runner = runner
        self._call = call
        self._reporter: ProgressReporter | None = None
        self._is_over = False

    async def report(self, progress: Progress) -> None:
        if self._is_over:
            return  # a task that outlives its call no longer reports
        if self._reporter is None:
            self._reporter = self._runner.reporter(self._call)
        await self._reporter.report(self._runner.redacted(progress))

    def finish(self, *, failed: bool) -> None:
        self._is_over = True
        if self._reporter is not None:
            self._reporter.finish(failed=failed)


async def _in_own_process(
    call: CallState, context: ToolContext, live: StreamedOutput | None
) -> ToolResult:
    """Run the call in the sub-agent's process, with otherwise equal behavior."""
    assert call.context.subagent is not None
    assert call.prepared is not None
    process = call.context.subagent.process
    return await process.execute(call.tool_name, call.prepared.raw, context, live)


async def _drain(produced: AsyncIterator[Any], live: StreamedOutput) -> ToolResult:
    """Stream a generator's items; the result is its `ToolResult`, or all its output."""
    result: ToolResult | None = None
    async with aclosing(cast("Any", produced)) as items:
        async for item in items:
            if isinstance(item, ToolResult):
                result = item
            elif isinstance(item, Output | str):
                await live.write(item)
            else:
                await live.write(Output(str(item)))
    if result is None:
        live.finish()
        result = ToolResult.ok({"output": live.text()}, text=live.text())
    return result


def _broken(tool: Tool, error: BaseException) -> tuple[CallStatus, ToolResult]:
    """Return the result of an exception raised by a tool."""
    if isinstance(error, InvalidArguments):
        return "invalid_arguments", _failure(error)
    if isinstance(error, TollgateError):
        return "error", _failure(error)
    if isinstance(error, BlockedTheLoop):
        return "timeout", ToolResult.fail(str(error), code=TIMEOUT_CODE)
    if (overload := overload_of(error)) is not None:
        log.warning("tool %s: %s", tool.name, overload.message)
        return "error", _failure(overload)
    error_id = new_id("err")
    log.error("tool %s failed unexpectedly (%s)", tool.name, error_id, exc_info=error)
    message = f"{type(error).__name__}: {error} (internal error {error_id})"
    return "error", ToolResult.fail(message, code="internal")


def _failure(error: TollgateError) -> ToolResult:
    code = str(error.details.get("code", error.code))
    return ToolResult.fail(error.message, code=code, data=error.details or None)


def _timed_out(tool: Tool, seconds: float, live: StreamedOutput | None) -> ToolResult:
    message = f"{tool.name} did not finish within {seconds:g} s and was stopped"
    partial = live.text() if live is not None else ""
    text = f"{message}. Output so far:\n{partial}" if partial else message
    return ToolResult.fail(message, code=TIMEOUT_CODE, data={"output": partial}, text=text)
