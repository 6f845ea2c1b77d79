"""`memory_forget`: deletes a memory permanently."""

from __future__ import annotations

from pydantic import Field

from app.domain.memory import MEMORY
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.memory.lines import KeyText, ScopeName
from app.tools.memory.returns import MEMORY_FORGET_RESULT
from app.tools.memory.scopes import memory_of, place_of, why_sharing_asks


class MemoryForgetArgs(ToolArgs):
    key: KeyText = Field(description="Its key, as shown by memory_recall after the scope.")
    scope: ScopeName = Field(default="user", description="Scope of the memory.")
    version: int | None = Field(
        default=None, ge=1, description="Only if it is still at this version."
    )


def confirmation_reason(args: MemoryForgetArgs, services: Services) -> str | None:
    """Return why the call needs approval."""
    return why_sharing_asks(args.scope, services)


@tool(
    category="memory",
    toolset="memory",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="delete",
    requires=(MEMORY,),
    asks=confirmation_reason,
    routing_hint="main-process-proxy",
    tags=("memory", "delete"),
    return_schema=MEMORY_FORGET_RESULT,
)
async def memory_forget(args: MemoryForgetArgs, ctx: ToolContext) -> ToolResult:
    """Permanently delete a memory that is wrong, outdated or unwanted by the user.

    Later lines move up by one.
    """
    place = place_of(ctx, args.scope)
    gone = await memory_of(ctx).forget(place, args.key, expected=args.version)
    data = {"scope": args.scope, "key": gone.key, "version": gone.version}
    return ToolResult.ok(data, text=f"Deleted {args.scope}/{gone.key}")
