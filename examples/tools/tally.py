"""`tally`: counts the words of several files, one line of live output for each."""
# ruff: noqa: INP001 - a plugin folder is not a package

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic import Field

from app.core.errors import ToolFailed
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool


class TallyArgs(ToolArgs):
    paths: list[str] = Field(min_length=1, max_length=20, description="Text files to count.")


@tool(category="file", toolset="files", kind="read", needs_project=True)
async def tally(args: TallyArgs, ctx: ToolContext) -> AsyncIterator[Output | ToolResult]:
    """Count the words of several text files; an empty file is a failure."""
    counts: dict[str, int] = {}
    for path in args.paths:
        data = await ctx.operations.files.read(path, max_bytes=1_000_000)
        counts[path] = len(data.decode("utf-8", "replace").split())
        if not counts[path]:
            raise ToolFailed(f"{path} is empty", code="empty_file")
        yield Output(f"{path}: {counts[path]}\n", "stdout")
    yield ToolResult.ok(counts)


TOOLS = (tally,)
