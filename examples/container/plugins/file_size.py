"""`file_size`: a plugin that needs a package besides those of the service."""
# ruff: noqa: INP001 - a plugin folder is not a package

from __future__ import annotations

import humanize
from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.tool import ToolArgs, tool


class FileSizeArgs(ToolArgs):
    path: str = Field(min_length=1, max_length=4096, description="File to look at.")


@tool(category="file", toolset="files", kind="read", needs_project=True)
async def file_size(args: FileSizeArgs, ctx: ToolContext) -> str:
    """Say how large a file is, for people."""
    data = await ctx.operations.files.read(args.path, max_bytes=100_000_000)
    return humanize.naturalsize(len(data))


TOOLS = (file_size,)
