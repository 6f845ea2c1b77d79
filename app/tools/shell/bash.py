"""`bash`: run one shell command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from pydantic import Field, field_validator

from app.operations.protocols import ProcessChunk, ProcessExit, ProcessSpec, RunningProcess
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.shell.exit_status import meaning
from app.tools.shell.transcript import Transcript, clip

_MAX_CHARS = 10_000
# In UTF-8 at most 128,000 bytes: Linux takes 131,071 in one argument.
_MAX_COMMAND = 32_000
_MAX_TIMEOUT_S = 600
_KILL_GRACE_S = 30
_LABEL_ROOM = 600


class BashArgs(ToolArgs):
    command: str = Field(min_length=1, max_length=_MAX_COMMAND, description="What bash runs.")
    working_dir: PathText = Field(default=".", description="Directory to run it in.")
    timeout: int = Field(
        default=30, ge=1, le=_MAX_TIMEOUT_S, description="Seconds before it is killed."
    )

    @field_validator("command")
    @classmethod
    def _no_nul(cls, command: str) -> str:
        if "\x00" in command:
            raise ValueError("must not contain NUL characters")
        return command


def _as_bash_tool(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take the fields of the tool of that name: a timeout over the maximum is milliseconds."""
    ignored = ("description", "run_in_background") if not arguments.get("run_in_background") else ()
    adapted = {key: value for key, value in arguments.items() if key not in ignored}
    timeout = adapted.get("timeout")
    if isinstance(timeout, int) and timeout > _MAX_TIMEOUT_S:
        adapted["timeout"] = min(-(-timeout // 1000), _MAX_TIMEOUT_S)
    return adapted


def _text_only(result: ToolResult) -> ToolResult:
    """The shape of `exec`: its users get one text."""
    text = result.for_model()
    if result.success:
        return ToolResult.ok(text, text=text, raw_result=result.raw_result)
    return ToolResult.fail(
        result.error or text,
        code=result.code or "tool_failed",
        data=text,
        text=text,
        raw_result=result.raw_result,
    )


@tool(  # noqa: S604 - `shell` is a field of the tool, nothing is started here
    category="shell",
    toolset="shell",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="execute",
    shell="bash",
    needs_project=True,
    routing_hint="main-process-proxy",
    timeout_s=_MAX_TIMEOUT_S + _KILL_GRACE_S,
    tags=("shell", "execute"),
    argument_aliases={"cmd": "command", "workdir": "working_dir", "cwd": "working_dir"},
    aliases=(
        Alias("exec", reshape=_text_only, families=("countbot",)),
        Alias("BashTool", adapt=_as_bash_tool, families=("claude",)),
        Alias("terminal"),
        Alias("shell"),
    ),
)
async def bash(args: BashArgs, ctx: ToolContext) -> AsyncIterator[Output | ToolResult]:
    """Run a bash command in the workspace and wait for it to end.

    For builds, tests, git and programs; to read, search or edit files prefer their tools.
    Each call is a new shell without a terminal: no input, no state kept. Returns output and
    exit code, long output shortened in the middle.
    """
    spec = ProcessSpec(
        argv=("/bin/bash", "--noprofile", "--norc", "-c", args.command), cwd=args.working_dir
    )
    transcript = Transcript(_MAX_CHARS)
    ended: ProcessExit | None = None
    async with ctx.operations.processes.open(spec) as process:
        deadline = asyncio.get_running_loop().time() + args.timeout
        chunks = process.output()
        try:
            while (chunk := await _next(chunks, deadline)) is not None:
                if text := transcript.add(chunk):
                    yield Output(text, chunk.stream)
            ended = await _exit(process, deadline)
        except TimeoutError:
            await process.kill()
    if rest := transcript.finish("stdout"):
        yield Output(rest, "stdout")
    if rest := transcript.finish("stderr"):
        yield Output(rest, "stderr")
    yield _result(args, transcript, ended)


async def _next(chunks: AsyncIterator[ProcessChunk], deadline: float) -> ProcessChunk | None:
    """The next chunk, None after the last one.

    Raises:
        TimeoutError: the deadline has passed, also when output never pauses.
    """
    if asyncio.get_running_loop().time() >= deadline:
        raise TimeoutError
    async with asyncio.timeout_at(deadline):
        return await anext(chunks, None)


async def _exit(process: RunningProcess, deadline: float) -> ProcessExit:
    async with asyncio.timeout_at(deadline):
        return await process.wait()


def _result(args: BashArgs, transcript: Transcript, ended: ProcessExit | None) -> ToolResult:
    data: dict[str, Any] = {
        "stdout": transcript.stdout,
        "stderr": transcript.stderr,
        "exit_code": None if ended is None else ended.code,
        "timed_out": ended is None,
        "truncated": transcript.truncated,
    }
    raw_result = RawResult("terminal", {"command": args.command, **data})
    if ended is None:
        error = f"Timed out after {args.timeout} s: the command and all it started were killed"
        text = _text(data, error)
        return ToolResult.fail(error, code="timeout", data=data, text=text, raw_result=raw_result)
    note = meaning(args.command, ended.code)
    status = f"Exit code: {ended.code}" + (f" ({note})" if note else "")
    text = _text(data, status)
    if ended.code == 0:
        return ToolResult.ok(data, text=text, raw_result=raw_result)
    error = f"The command failed. {status}"
    return ToolResult.fail(error, code="exit_nonzero", data=data, text=text, raw_result=raw_result)


def _text(data: dict[str, Any], status: str) -> str:
    room = _MAX_CHARS - _LABEL_ROOM
    out, err = data["stdout"].rstrip("\n"), data["stderr"].rstrip("\n")
    # Errors get at least a third, and whatever standard output leaves.
    err = clip(err, max(room // 3, room - len(out)))
    out = clip(out, max(room // 3, room - len(err)))
    parts = [out] if out else []
    if err:
        parts.append(f"STDERR:\n{err}")
    return "\n".join([*parts, status])
