"""`task_broadcast`: sends a message to every running sub-agent."""

from __future__ import annotations

from pydantic import Field

from app.domain.delegation import DELEGATION
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.delegation.returns import TASK_BROADCAST_RESULT
from app.tools.delegation.services import delegation_of, session_of

MAX_TEXT = 4000


class TaskBroadcastArgs(ToolArgs):
    text: str = Field(
        min_length=1, max_length=MAX_TEXT, pattern=r"\S", description="Message for the sub-agents."
    )
    batch_id: str | None = Field(
        default=None, min_length=1, max_length=128, description="Only sub-agents of this batch."
    )


@tool(
    category="agent",
    toolset="delegation",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    requires=(DELEGATION,),
    subagent_allowed=False,
    routing_hint="main-process-proxy",
    tags=("agents", "team"),
    argument_aliases={"message": "text"},
    aliases=(Alias("TaskBroadcastTool", families=("jarvis",)),),
    return_schema=TASK_BROADCAST_RESULT,
)
async def task_broadcast(args: TaskBroadcastArgs, ctx: ToolContext) -> ToolResult:
    """Send a message to all running sub-agents of this chat.

    Use it for news that affects them: a discovery, a warning, a changed requirement. Each reads it
    before its next step. Returns the IDs of the notified tasks.
    """
    session_id = session_of(ctx)
    notified = await delegation_of(ctx).broadcast(
        args.text, session_id=session_id, batch_id=args.batch_id
    )
    data = {"task_ids": notified, "total": len(notified)}
    text = f"Notified {', '.join(notified)}" if notified else "No sub-agent is running"
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))
