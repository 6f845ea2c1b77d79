"""Run of one shell command: streamed to its end, or continued in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace

from app.core.errors import ToolFailed
from app.core.host_rules import HostRules
from app.domain.processes import (
    SESSION_PROCESSES,
    OutputTap,
    ProcessRequest,
    SessionProcess,
    SessionProcesses,
)
from app.operations.protocols.processes import (
    MayChange,
    ProcessExit,
    ProcessLimits,
    ProcessSpec,
    Terminal,
)
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import ToolResult
from app.tools.shell.arguments import ShellArgs
from app.tools.shell.results import MAX_CHARS, finished, goes_on, timed_out
from app.tools.shell.transcript import Transcript

_MARGIN_S = 2.0
# The approver of such a call has seen that it changes files run by other programs.
_ABOUT_GIT = frozenset({"git_code", "git_config"})
_ABOUT_HOSTS = "network_host"
_ABOUT_FILES = frozenset({"runs_later", "startup_file"})
_BACKSTOP_S = 10.0


def _nothing(_: ProcessExit) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """Command, ready to start.

    Attributes:
        argv: the shell with its arguments.
        cwd: working directory.
        env: variables in addition to the fixed ones.
        after: called with its end in the foreground; returns lines for the model.
    """

    args: ShellArgs
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    tap: OutputTap | None = None
    after: Callable[[ProcessExit], str] = _nothing


async def run(command: ShellCommand, ctx: ToolContext) -> AsyncIterator[Output | ToolResult]:
    """Yield output, then the result. Closing the iterator early ends the process."""
    session_processes = ctx.services.require(SESSION_PROCESSES, SessionProcesses)  # type: ignore[type-abstract]
    args, processes = command.args, ctx.operations.processes
    asked = args.timeout if "timeout" in args.model_fields_set else session_processes.timeout_s
    seconds = min(float(asked), session_processes.max_timeout_s, _allowed(ctx))
    request = _request(command, ctx, session_processes, seconds)
    if args.background:
        process = await session_processes.background(request, processes)
        yield goes_on(process, Transcript(MAX_CHARS), "Running in the background")
        return
    transcript = Transcript(MAX_CHARS)
    deadline = asyncio.get_running_loop().time() + seconds
    async with session_processes.foreground(request, processes) as process:
        try:
            while (piece := await _next(process, deadline)) is not None:
                transcript.add(piece)
                yield piece
        except TimeoutError:
            yield await _out_of_time(command, session_processes, process, transcript, seconds)
            return
        yield _finished(command, session_processes, process, transcript)


def _allowed(ctx: ToolContext) -> float:
    """Return the seconds until the call itself is stopped, minus time to report the end."""
    if ctx.timeout_s is None:
        return float("inf")
    return ctx.timeout_s - min(_MARGIN_S, ctx.timeout_s / 4)


def _request(
    command: ShellCommand, ctx: ToolContext, session_processes: SessionProcesses, seconds: float
) -> ProcessRequest:
    args = command.args
    may_stay = args.background or args.on_timeout == "background"
    limits = ProcessLimits(wall_s=seconds + _BACKSTOP_S)
    if may_stay:
        limits = replace(limits, wall_s=session_processes.max_background_s, cpu_s=None)
    spec = ProcessSpec(
        argv=command.argv,
        cwd=command.cwd,
        env={**command.env, "TERM": "xterm"} if args.pty else command.env,
        limits=limits,
        interactive=args.background or args.pty,
        terminal=Terminal() if args.pty else None,
        long_lived=args.background,
        may_change=_may_change(ctx),
        hosts=args.hosts if _ABOUT_HOSTS in ctx.approved else HostRules(),
    )
    return ProcessRequest(
        session_id=ctx.session_id or "",
        operation_id=ctx.operation_id,
        command=args.command,
        spec=spec,
        tap=command.tap,
        project_id=ctx.project_id,
        subagent_id=ctx.subagent_id,
    )


def _may_change(ctx: ToolContext) -> frozenset[MayChange]:
    found: list[MayChange] = []
    if not ctx.approved.isdisjoint(_ABOUT_GIT):
        found.append("git")
    if not ctx.approved.isdisjoint(_ABOUT_FILES):
        found.append("files")
    return frozenset(found)


async def _next(process: SessionProcess, deadline: float) -> Output | None:
    """Return the next piece, None after the last one.

    Raises:
        TimeoutError: the deadline has passed, even if output never pauses.
    """
    if asyncio.get_running_loop().time() >= deadline:
        raise TimeoutError
    async with asyncio.timeout_at(deadline):
        return await process.next_output()


async def _out_of_time(
    command: ShellCommand,
    session_processes: SessionProcesses,
    process: SessionProcess,
    transcript: Transcript,
    seconds: float,
) -> ToolResult:
    """Let the command continue in the background if requested and possible; otherwise end it."""
    args = command.args
    notes = ""
    if seconds < args.timeout and "timeout" in args.model_fields_set:
        notes = f"{args.timeout} s were requested, which exceeds the maximum"
    if args.on_timeout == "background":
        try:
            session_processes.keep(process)
        except ToolFailed as full:
            notes = f"{notes}\n{full.message}".strip()
        else:
            process.seen = process.size
            message = f"Still running after {seconds:g} s; it continues in the background"
            return goes_on(process, transcript, message)
    process.unfollow()
    await process.kill()
    return timed_out(args.command, transcript, process.exit, f"{seconds:g} s", notes)


def _finished(
    command: ShellCommand,
    session_processes: SessionProcesses,
    process: SessionProcess,
    transcript: Transcript,
) -> ToolResult:
    ended = process.exit
    assert ended is not None
    notes, process_id = command.after(ended), None
    if transcript.truncated:
        session_processes.keep(process)
        process_id, process.seen = process.id, process.size
        whole = f"All {process.size} bytes: `process` action log, process_id {process.id}"
        notes = f"{whole}\n{notes}".strip()
    return finished(command.args.command, transcript, ended, notes, process_id)
