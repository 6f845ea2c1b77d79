"""`process`: manages background processes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import re2
from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.domain.processes import SESSION_PROCESSES, SessionProcess, SessionProcesses
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import (
    CONTROL_KEYS,
    Alias,
    PermissionClass,
    SideEffectScope,
    ToolArgs,
    tool,
)
from app.tools.shell.frames import last_frames
from app.tools.shell.results import why_ended
from app.tools.shell.returns import PROCESS_RESULT

_MAX_WAIT_S = 600
_WAIT_S, _ANSWER_S, _SETTLED_S = 30, 1, 0.1
_INPUT_S = 10
_MAX_DATA = 32_000
_MAX_PAGE = 50_000
_COMMAND_CHARS = 200

UNREAD_BYTES = 10_000
_STEP = 16 << 10
_OVERLAP = 4 << 10
_MAX_LINE = 500


class ProcessArgs(ToolArgs):
    action: Literal["list", "poll", "log", "write", "wait", "kill"] = Field(
        description="poll: new output. log: a page of all output. wait: for a match or the end."
    )
    process_id: str | None = Field(
        default=None, min_length=1, max_length=100, description="ID of the process; not for list."
    )
    data: str | None = Field(
        default=None,
        max_length=_MAX_DATA,
        description="write: the input; end a line with \\n; \\u0003 interrupts on a terminal.",
    )
    close_input: bool = Field(default=False, description="write: end the input afterwards.")
    pattern: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="wait: regular expression for unread or future output.",
    )
    offset: int = Field(
        default=0, description="log: byte to start at; negative counts from the end."
    )
    limit: int = Field(default=10_000, ge=100, le=_MAX_PAGE, description="log: maximum bytes.")
    timeout: int | None = Field(
        default=None,
        ge=0,
        le=_MAX_WAIT_S,
        description="Seconds to wait: 30 for wait, 1 for a response to write.",
    )

    @model_validator(mode="after")
    def _fits_the_action(self) -> ProcessArgs:
        if self.action != "list" and self.process_id is None:
            raise FieldError(
                f"{self.action} requires process_id; use list to show them",
                code="needs",
                given=self.action,
                needed="process_id",
            )
        # Policy classifies `data` as a command, so it must not appear with another action.
        if self.action != "write" and (self.data is not None or self.close_input):
            raise FieldError(
                "data and close_input are only valid for write",
                code="only_with",
                given="data, close_input",
                needed="write",
            )
        if self.action == "write" and not self.data and not self.close_input:
            raise FieldError(
                "write requires data or close_input", code="some_of", needed="data, close_input"
            )
        if self.action != "wait" and self.pattern is not None:
            raise FieldError(
                "pattern is only valid for wait", code="only_with", given="pattern", needed="wait"
            )
        return self


def asks(args: ProcessArgs, _: Services) -> str | None:
    """Return why typing needs approval: a running program cannot be classified like a command."""
    if not args.data or not args.data.strip(CONTROL_KEYS):
        return None
    return f"sends input to the running process {args.process_id}, which may execute it"


@tool(  # noqa: S604 - `shell` is a field of the tool, nothing is started here
    category="shell",
    toolset="shell",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="execute",
    shell="bash",
    command_argument="data",
    asks=asks,
    routing_hint="main-process-proxy",
    timeout_s=_MAX_WAIT_S + _INPUT_S + 20,
    tags=("shell", "process", "background"),
    argument_aliases={
        "id": "process_id",
        "session_id": "process_id",
        "chars": "data",
        "input": "data",
        "close_stdin": "close_input",
        "wait_for": "pattern",
    },
    aliases=(Alias("ProcessTool", families=("jarvis", "claude")),),
    return_schema=PROCESS_RESULT,
)
async def process(args: ProcessArgs, ctx: ToolContext) -> ToolResult:
    """Manage the background processes of this session.

    list shows them, poll returns new output, log returns all output, wait waits for a match or the
    end, write sends input, kill ends one and its children. Start them with `background` or
    `on_timeout` of bash.
    """
    processes = ctx.services.require(SESSION_PROCESSES, SessionProcesses)  # type: ignore[type-abstract]
    session_id = ctx.session_id or ""
    if args.process_id is None:
        return _listed(processes.of(session_id, ctx.subagent_id))
    found = processes.find(session_id, args.process_id, ctx.subagent_id)
    if args.action == "log":
        return await _page(args, found)
    matched: str | None = None
    if args.action == "wait":
        matched = await _wait(args, found)
    elif args.action == "write":
        await _write(args, found)
    elif args.action == "kill":
        await found.kill()
    return await _news(args, found, matched)


def _listed(processes: Sequence[SessionProcess]) -> ToolResult:
    rows = [_state(one) for one in processes]
    lines = [f"{row['process_id']}: {_state_text(row)}: {row['command']}" for row in rows]
    text = "\n".join(lines) or "No background processes in this session"
    return ToolResult.ok({"processes": rows, "total": len(rows)}, text=text)


async def _page(args: ProcessArgs, found: SessionProcess) -> ToolResult:
    size = found.size
    start = args.offset if args.offset >= 0 else max(0, size + args.offset)
    page = await found.read(start, args.limit)
    data = {
        **_state(found),
        "output": page.text,
        "offset": page.start,
        "next_offset": page.end if page.end < size else None,
    }
    more = f"; continue with offset {page.end}" if page.end < size else ""
    text = f"{last_frames(page.text)}\n[bytes {page.start} to {page.end} of {size}{more}]"
    return ToolResult.ok(data, text=text, raw_result=RawResult("terminal", data))


async def _wait(args: ProcessArgs, found: SessionProcess) -> str | None:
    """Return the line that matched; None without a pattern, at the timeout, or at its end."""
    pattern = None if args.pattern is None else await asyncio.to_thread(compiled, args.pattern)
    try:
        async with asyncio.timeout(_WAIT_S if args.timeout is None else args.timeout):
            if pattern is not None:
                return await until_match(found, pattern)
            await found.wait()
    except TimeoutError:
        pass
    return None


async def _write(args: ProcessArgs, found: SessionProcess) -> None:
    """Type, and give the program a moment to respond."""
    before = found.size
    try:
        async with asyncio.timeout(_INPUT_S):
            if args.data:
                await found.write(args.data.encode("utf-8", "replace"))
            if args.close_input:
                await found.close_input()
    except TimeoutError:
        _takes_no_input(found)
    seconds = _ANSWER_S if args.timeout is None else args.timeout
    try:
        async with asyncio.timeout(seconds):
            while found.size == before and found.exit is None:
                await found.news()
            while found.exit is None:
                async with asyncio.timeout(_SETTLED_S):
                    await found.news()
    except TimeoutError:
        pass


def _takes_no_input(found: SessionProcess) -> NoReturn:
    raise ToolFailed(
        f"{found.id} did not read all of the input within {_INPUT_S} s; wait until it reads again",
        code="input_full",
    )


async def _news(args: ProcessArgs, found: SessionProcess, matched: str | None) -> ToolResult:
    output = last_frames(await unread(found))
    data: dict[str, Any] = {**_state(found), "output": output}
    lines = [output.rstrip("\n")] if output else []
    if args.pattern is not None:
        data["matched"] = matched
        lines.append(f"Matched: {matched}" if matched is not None else "No match so far")
    lines.append(f"{found.id}: {_state_text(data)}")
    return ToolResult.ok(data, text="\n".join(lines), raw_result=RawResult("terminal", data))


def _state(found: SessionProcess) -> dict[str, Any]:
    ended, request = found.exit, found.request
    return {
        "process_id": found.id,
        "command": request.command[:_COMMAND_CHARS],
        "cwd": request.spec.cwd,
        "terminal": request.spec.terminal is not None,
        "running": ended is None,
        "exit_code": None if ended is None else ended.code,
        "reason": None if ended is None else ended.reason,
        "seconds": round(found.age_s, 1),
        "output_bytes": found.size,
        "unread_bytes": max(0, found.size - found.seen),
        "sandbox": found.sandbox.to_dict(),
    }


def _state_text(state: dict[str, Any]) -> str:
    seconds = f"{state['seconds']:g} s"
    if state["running"]:
        return f"running for {seconds}, {state['output_bytes']} bytes of output"
    return f"ended after {seconds}, exit code {state['exit_code']}{_because(state)}"


def _because(state: dict[str, Any]) -> str:
    why = why_ended(state["reason"])
    return "" if why is None else f": {why}"


async def unread(process: SessionProcess) -> str:
    """Return the unread output, shortened in the middle, and mark it as read."""
    start, size = process.seen, process.size
    if size - start <= UNREAD_BYTES:
        page = await process.read(start, max(4, size - start))
        process.seen = page.end
        return page.text
    half = UNREAD_BYTES // 2
    head = await process.read(start, half)
    tail = await process.read(size - half, half)
    process.seen = tail.end
    left_out = tail.start - head.end
    note = f"… [{left_out} bytes omitted; read them with action log, offset {head.end}] …"
    return f"{head.text}\n{note}\n{tail.text}"


def compiled(pattern: str) -> re2._Regexp:
    """Compile a pattern, with `^` and `$` at lines.

    Raises:
        ToolFailed: code `invalid_pattern`.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        return re2.compile(f"(?m:{pattern})", options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ToolFailed(
            f"pattern is not a valid RE2 regular expression: {reason}", code="invalid_pattern"
        ) from None


async def until_match(process: SessionProcess, pattern: re2._Regexp) -> str | None:
    """Return the first unread or future line that matches; None if the process ends before.

    A match that spans more than 4 KiB may be missed.
    """
    offset, carried = process.seen, ""
    while True:
        while offset < process.size:
            page = await process.read(offset, _STEP)
            if page.end <= offset:
                break
            offset, window = page.end, carried + page.text
            # In the worst case the engine takes seconds for this size.
            found = await asyncio.to_thread(pattern.search, window)
            if found is not None:
                return _line(window, found.start())
            carried = window[-_OVERLAP:]
            if len(window) > _OVERLAP:
                # `^` must not match at the position of a cut.
                carried = carried[carried.find("\n") + 1 :]
        if process.exit is not None:
            return None
        await process.news()


def _line(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[begin : len(text) if end < 0 else end][:_MAX_LINE]
