"""`file_delete`: deletes one file."""

from __future__ import annotations

import asyncio

from pydantic import Field

from app.core.errors import ToolFailed
from app.operations.protocols.files import Edited
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.files.diff import unified_diff
from app.tools.files.document import open_document
from app.tools.files.returns import FILE_DELETE_RESULT


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
    return_schema=FILE_DELETE_RESULT,
)
async def file_delete(args: FileDeleteArgs, ctx: ToolContext) -> ToolResult:
    """Delete one file. Prefer it over rm in bash: a person can undo it. Directories are refused."""
    edited = await ctx.operations.files.delete(args.path)
    diff = await asyncio.to_thread(_diff_of, edited)
    data = {"success": True, "path": args.path}
    return ToolResult.ok(data, text=f"Deleted {args.path}", raw_result=diff)


def _diff_of(edited: Edited) -> RawResult | None:
    """Return the diff of the deleted content; None if it is not text or too large."""
    if edited.before is None:
        return None
    try:
        text = open_document(edited.before, None, edited.path).shown()
    except ToolFailed:
        return None
    return unified_diff(edited.path, text, None).raw_result()
