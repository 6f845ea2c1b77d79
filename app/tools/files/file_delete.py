"""`file_delete`: remove one file."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText


class FileDeleteArgs(ToolArgs):
    path: PathText = Field(description="File to delete; directories are refused.")


@tool(
    category="file",
    toolset="files",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="delete",
    needs_project=True,
    routing_hint="main-process-proxy",
    tags=("file", "delete"),
    argument_aliases={"file_path": "path", "filename": "path"},
)
async def file_delete(args: FileDeleteArgs, ctx: ToolContext) -> dict[str, Any]:
    """Delete one file. Prefer it over rm in bash: a person can undo it. Directories are refused."""
    await ctx.operations.files.delete(args.path)
    return {"success": True, "path": args.path}
