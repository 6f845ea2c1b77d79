"""`file_mkdir`: creates a directory."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.files.returns import FILE_MKDIR_RESULT


class FileMkdirArgs(ToolArgs):
    path: PathText = Field(description="Directory to create, parents included.")


@tool(
    category="file",
    toolset="files",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="edit",
    needs_project=True,
    routing_hint="main-process-proxy",
    tags=("file", "write"),
    argument_aliases={"dir": "path", "directory": "path", "dir_path": "path"},
    return_schema=FILE_MKDIR_RESULT,
)
async def file_mkdir(args: FileMkdirArgs, ctx: ToolContext) -> dict[str, Any]:
    """Create a directory with its parents; created is false if it already existed.

    write_file creates missing folders itself.
    """
    created = await ctx.operations.files.make_dir(args.path)
    return {"success": True, "path": args.path, "created": created}
