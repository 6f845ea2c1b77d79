"""`search_tools`: finds tools that are not shown initially."""

from __future__ import annotations

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.ports import TOOL_FINDER, ToolFinder
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.system.returns import SEARCH_TOOLS_RESULT


class SearchToolsArgs(ToolArgs):
    query: str = Field(
        min_length=1,
        max_length=500,
        description="What the tool should do, in a few words; or `select:name,name`.",
    )
    limit: int = Field(default=5, ge=1, le=20, description="Maximum tools.")


@tool(
    category="system",
    toolset="system",
    kind="search",
    routing_hint="main-process-proxy",
    core=True,
    tags=("tools", "discovery"),
    return_schema=SEARCH_TOOLS_RESULT,
)
async def search_tools(args: SearchToolsArgs, ctx: ToolContext) -> ToolResult:
    """Find more tools; not all available tools are listed.

    Search when no listed tool fits the task. Returns names and summaries, best match first; from
    the next turn on you can call them like any other tool.
    """
    finder = ctx.services.require(TOOL_FINDER, ToolFinder)  # type: ignore[type-abstract]
    found = finder.find(args.query, agent_id=ctx.agent_id, run_id=ctx.run_id, limit=args.limit)
    rows = [{"name": item.name, "summary": item.summary} for item in found]
    if not rows:
        text = f"No further tool matches {args.query!r}. Try other words."
    else:
        text = "\n".join(f"{row['name']}: {row['summary']}" for row in rows)
    return ToolResult.ok({"tools": rows, "total": len(rows)}, text=text)
