"""`word_count`: how long a text file is."""
# ruff: noqa: INP001 - a plugin folder is not a package

from __future__ import annotations

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool


class WordCountArgs(ToolArgs):
    path: str = Field(min_length=1, max_length=4096, description="Text file to count.")


@tool(category="file", toolset="files", kind="read", cacheable=True, needs_project=True)
async def word_count(args: WordCountArgs, ctx: ToolContext) -> ToolResult:
    """Count the lines, words and bytes of a text file; prefer it over wc in bash."""
    data = await ctx.operations.files.read(args.path, max_bytes=10_000_000)
    text = data.decode("utf-8", "replace")
    counts = {"lines": len(text.splitlines()), "words": len(text.split()), "bytes": len(data)}
    return ToolResult.ok(counts)


TOOLS = (word_count,)
