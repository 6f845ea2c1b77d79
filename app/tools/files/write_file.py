"""`write_file`: create, replace or extend a file."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import Field

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import Encoding, PathText
from app.tools.files.diff import diff_of_edit
from app.tools.files.text import MAX_FILE_BYTES, encode


class WriteFileArgs(ToolArgs):
    path: PathText = Field(description="File to write; missing folders are created.")
    content: str = Field(max_length=MAX_FILE_BYTES, description="The text to write.")
    mode: Literal["write", "overwrite", "append"] = Field(
        default="write", description="write and overwrite replace the file, append extends it."
    )
    encoding: Encoding = Field(default="utf-8", description="Such as utf-8 or gbk.")
    overwrite_changed: bool = Field(
        default=False, description="Also replace a file that changed since it was read."
    )


def _file_write_shape(result: ToolResult) -> ToolResult:
    if not result.success:
        return result
    kept = {key: result.data[key] for key in ("size", "path", "mode")}
    return ToolResult.ok({"success": True, **kept}, raw_result=result.raw_result)


@tool(
    category="file",
    toolset="files",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="edit",
    needs_project=True,
    routing_hint="main-process-proxy",
    tags=("file", "write"),
    argument_aliases={
        "file_path": "path",
        "filename": "path",
        "text": "content",
        "contents": "content",
    },
    aliases=(Alias("file_write", reshape=_file_write_shape, families=("nanoclaw",)),),
)
async def write_file(args: WriteFileArgs, ctx: ToolContext) -> ToolResult:
    """Create a text file, replace it, or append to it.

    To change part of an existing file prefer edit_file. Returns how much was written.
    """
    append = args.mode == "append"
    data = encode(args.content, args.encoding, append=append)
    if len(data) > MAX_FILE_BYTES:
        raise ToolFailed(
            f"content is {len(data)} bytes in {args.encoding}; {MAX_FILE_BYTES} are the most",
            code="file_too_large",
        )
    fresh = not append and not args.overwrite_changed
    edited = await ctx.operations.files.write(args.path, data, append=append, fresh=fresh)
    diff = await asyncio.to_thread(diff_of_edit, edited, args.encoding)
    created = edited.before is None
    result: dict[str, Any] = {
        "path": args.path,
        "size": len(args.content),
        "bytes": len(edited.after or b""),
        "mode": args.mode,
        "created": created,
        "added": diff.added,
        "removed": diff.removed,
    }
    verb = "Created" if created else "Appended to" if append else "Replaced"
    text = f"{verb} {args.path}: wrote {len(args.content)} chars"
    return ToolResult.ok(result, text=text, raw_result=diff.raw_result())
