"""`delegate_cancel`: stops sub-agents."""

from __future__ import annotations

from pydantic import Field

from app.domain.delegation import DELEGATION
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.delegation.reports import progress
from app.tools.delegation.returns import DELEGATE_CANCEL_RESULT
from app.tools.delegation.services import delegation_of, session_of


class DelegateCancelArgs(ToolArgs):
    id: str = Field(min_length=1, max_length=128, description="ID of a task, or of a whole batch.")


@tool(
    category="agent",
    toolset="delegation",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    requires=(DELEGATION,),
    # Otherwise a sub-agent could stop its siblings.
    subagent_allowed=False,
    routing_hint="main-process-proxy",
    tags=("agents",),
    argument_aliases={"task_id": "id", "batch_id": "id"},
    return_schema=DELEGATE_CANCEL_RESULT,
)
async def delegate_cancel(args: DelegateCancelArgs, ctx: ToolContext) -> ToolResult:
    """Stop a sub-agent of this chat, or all of a batch.

    Completed work stays. No effect if it has ended. Returns the status and any partial answer.
    """
    session_id = session_of(ctx)
    return progress(await delegation_of(ctx).cancel(args.id, session_id=session_id))
