"""`task_broadcast`: sends a message to every running sub-agent."""

from __future__ import annotations

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.delegation.ports import DELEGATION
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
    """Send a message to every running sub-agent of this chat.

    For what changes the task while they work: a discovery, a warning, a new wish. Each reads it
    before its next step. Returns the ids of the tasks that were told.
    """
    session_id = session_of(ctx)
    notified = await delegation_of(ctx).broadcast(
        args.text, session_id=session_id, batch_id=args.batch_id
    )
    data = {"task_ids": notified, "total": len(notified)}
    text = (
        f"Notified {', '.join(notified)}"
        if notified
        else "No sub-agent is running, so nobody was notified"
    )
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))
