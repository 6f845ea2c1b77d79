"""`file_exists`: returns whether a path exists, and its type."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.tool import ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.files.returns import FILE_EXISTS_RESULT


class FileExistsArgs(ToolArgs):
    path: PathText = Field(description="Path to check.")


@tool(
    category="file",
    toolset="files",
    kind="read",
    cacheable=True,
    needs_project=True,
    tags=("file", "read"),
    argument_aliases={"file_path": "path", "filename": "path"},
    return_schema=FILE_EXISTS_RESULT,
)
async def file_exists(args: FileExistsArgs, ctx: ToolContext) -> dict[str, Any]:
    """Check whether a path exists: its type (file, directory, other) and size in bytes."""
    found = await ctx.operations.files.stat(args.path)
    if found is None:
        return {"exists": False, "type": None, "path": args.path}
    answer: dict[str, Any] = {"exists": True, "type": found.type, "path": args.path}
    if found.type == "file":
        answer["size"] = found.size
    return answer
