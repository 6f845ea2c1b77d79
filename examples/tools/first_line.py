"""`first_line`: a tool with a hook that denies access to hidden files."""
# ruff: noqa: INP001 - a plugin folder is not a package

from __future__ import annotations

from pathlib import PurePosixPath

from pydantic import Field

from app.catalog.seed_api import PluginApi
from app.execution.hooks.model import HookAction, HookConfig, HookContext, HookResult, HookType
from app.toolkit.context import ToolContext
from app.toolkit.tool import ToolArgs, tool


class FirstLineArgs(ToolArgs):
    path: str = Field(min_length=1, max_length=4096, description="Text file to read.")


@tool(category="file", toolset="files", kind="read", needs_project=True)
async def first_line(args: FirstLineArgs, ctx: ToolContext) -> str:
    """Show the first line of a text file."""
    data = await ctx.operations.files.read(args.path, max_bytes=1_000_000)
    return data.decode("utf-8", "replace").partition("\n")[0]


async def keep_hidden_files_private(context: HookContext) -> HookResult:
    if any(part.startswith(".") for part in PurePosixPath(context.arguments["path"]).parts):
        return HookResult(HookAction.DENY, "Hidden files are private")
    return HookResult(HookAction.CONTINUE)


def register(registry: PluginApi) -> None:
    guard = HookConfig("hidden_files", HookType.PRE_TOOL_USE, keep_hidden_files_private)
    registry.register(first_line, hooks=[guard])
