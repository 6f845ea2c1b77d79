"""`bash`: runs one shell command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from pydantic import Field

from app.core.errors import OutsideWorkspace, ToolFailed
from app.domain.processes import SHELL_STATES, ShellState, ShellStates
from app.operations.protocols.processes import ProcessExit
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, tool
from app.tools.shell.arguments import (
    ARGUMENT_ALIASES,
    KILL_GRACE_S,
    MAX_TIMEOUT_S,
    ShellArgs,
    from_claude,
)
from app.tools.shell.command_run import ShellCommand, run
from app.tools.shell.returns import COMMAND_RESULT
from app.tools.shell.state import StateTap, loss_text, read_record

_BASH = ("/bin/bash", "--noprofile", "--norc", "-c")


class BashArgs(ShellArgs):
    keep_state: bool = Field(
        default=False,
        description="Reuse the directory and exported variables of the last such call.",
    )


def _text_only(result: ToolResult) -> ToolResult:
    """Return the result of `exec`: a single text."""
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
    sandbox="bash",
    needs_project=True,
    routing_hint="main-process-proxy",
    timeout_s=MAX_TIMEOUT_S + KILL_GRACE_S,
    tags=("shell", "execute"),
    argument_aliases=ARGUMENT_ALIASES,
    aliases=(
        Alias("exec", reshape=_text_only, families=("countbot",)),
        Alias("BashTool", adapt=from_claude, families=("jarvis", "claude")),
        Alias("terminal"),
        Alias("shell"),
    ),
    return_schema=COMMAND_RESULT,
)
async def bash(args: BashArgs, ctx: ToolContext) -> AsyncIterator[Output | ToolResult]:
    """Run a bash command in the workspace and wait for it to finish.

    Use it for builds, tests, git and programs; prefer the file tools to read, search or edit. Each
    call starts a new shell without input, except with `keep_state` or `pty`. Start servers with
    `background`. Returns output and exit code; long output is cut in the middle.
    """
    command = await _kept(args, ctx) if args.keep_state else _fresh(args)
    async with aclosing(cast("Any", run(command, ctx))) as items:
        async for item in items:
            yield item


def _fresh(args: BashArgs) -> ShellCommand:
    return ShellCommand(args, (*_BASH, args.command), args.working_dir or ".")


async def _kept(args: BashArgs, ctx: ToolContext) -> ShellCommand:
    """Return a command that continues the session's shell.

    Commands in the background or on a terminal do not change the saved state.
    """
    states = ctx.services.require(SHELL_STATES, ShellStates)  # type: ignore[type-abstract]
    before = states.get(ctx.shell_id, ctx.project_id)
    cwd = args.working_dir or await _still_there(states, before, ctx) or "."
    if args.background or args.pty:
        return ShellCommand(args, (*_BASH, args.command), cwd, before.variables)
    tap, root = StateTap(), ctx.operations.root

    def after(ended: ProcessExit) -> str:
        if tap.record is None or ended.reason != "exited":
            return "Not saved: directory and variables; the shell did not exit normally"
        left = read_record(tap.record, root, before)
        states.put(ctx.shell_id, ctx.project_id, left.state)
        return loss_text(left, args.command)

    argv = (*_BASH, tap.script, "bash", args.command)
    return ShellCommand(args, argv, cwd, before.variables, tap, after)


async def _still_there(states: ShellStates, before: ShellState, ctx: ToolContext) -> str | None:
    """Return the saved directory.

    Raises:
        ToolFailed: code `kept_directory_gone`; the next call starts at the root.
    """
    if ctx.kept_cwd is None:
        return None
    try:
        stat = await ctx.operations.files.stat(ctx.kept_cwd)
    except OutsideWorkspace:
        stat = None
    if stat is None or stat.type != "directory":
        states.put(ctx.shell_id, ctx.project_id, ShellState(None, before.variables))
        raise ToolFailed(
            f"The saved directory {ctx.kept_cwd!r} no longer exists; call again to "
            "start at the root",
            code="kept_directory_gone",
        )
    return ctx.kept_cwd
