"""`powershell`: runs one PowerShell command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

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

PROGRAM = "pwsh"


@tool(  # noqa: S604 - `shell` is a field of the tool, nothing is started here
    category="shell",
    toolset="shell",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="execute",
    shell="powershell",
    sandbox="bash",
    needs_project=True,
    programs=(PROGRAM,),
    routing_hint="main-process-proxy",
    timeout_s=MAX_TIMEOUT_S + KILL_GRACE_S,
    tags=("shell", "execute", "powershell"),
    argument_aliases=ARGUMENT_ALIASES,
    aliases=(
        Alias("PowerShellTool", adapt=from_claude, families=("jarvis", "claude")),
        Alias("pwsh"),
    ),
    return_schema=COMMAND_RESULT,
)
async def powershell(args: ShellArgs, ctx: ToolContext) -> AsyncIterator[Output | ToolResult]:
    """Run a PowerShell command in the workspace and wait for it to finish.

    Use it for cmdlets and .ps1 scripts; prefer bash for everything else. Each call starts a new
    shell without input or profile. Returns output and exit code; long output is cut in the middle.
    """
    argv = (PROGRAM, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", args.command)
    command = ShellCommand(args, argv, args.working_dir or ".")
    async with aclosing(cast("Any", run(command, ctx))) as items:
        async for item in items:
            yield item
