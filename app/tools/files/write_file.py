"""`write_file`: creates, replaces or extends a file."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import Field

from app.core.errors import ToolFailed
from app.operations.protocols.files import FileState, FileStates
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import Encoding, PathText
from app.tools.files.diff import unified_diff
from app.tools.files.document import TextDocument, open_document, open_exactly, open_leniently
from app.tools.files.returns import WRITE_FILE_RESULT
from app.tools.files.text import MAX_FILE_BYTES, encode, with_newlines

_ENDS = {"lf": "\n", "crlf": "\r\n"}


class WriteFileArgs(ToolArgs):
    path: PathText = Field(description="File to write; missing folders are created.")
    content: str = Field(max_length=MAX_FILE_BYTES, description="Text to write.")
    mode: Literal["write", "overwrite", "append"] = Field(
        default="write", description="write and overwrite replace the file, append extends it."
    )
    encoding: Encoding | None = Field(
        default=None,
        description="Such as utf-8 or gbk; default: the file's own, and utf-8 for a new one.",
    )
    line_ends: Literal["keep", "lf", "crlf"] = Field(
        default="keep", description="keep preserves the line endings of an existing file."
    )
    overwrite_changed: bool = Field(
        default=False, description="Also replace a file that changed since it was read."
    )


class _WriteChange:
    """Change as a function of the current content; records both texts."""

    def __init__(self, args: WriteFileArgs) -> None:
        self.args = args
        self.append = args.mode == "append"
        self.before: str | None = None
        self.after = ""

    def __call__(self, found: FileStates) -> FileStates:
        args = self.args
        there = found[args.path]
        before = there.data if there is not None else b""
        self.before = None if there is None else open_leniently(before, args.path).shown()
        data = self._extended(before) if self.append and before else self._replaced(before)
        if len(data) > MAX_FILE_BYTES:
            raise ToolFailed(
                f"content has {len(data)} bytes; the maximum is {MAX_FILE_BYTES}",
                code="file_too_large",
            )
        whole = before + data if self.append else data
        return {args.path: FileState(whole, None if there is None else there.mode)}

    def _extended(self, before: bytes) -> bytes:
        args = self.args
        document = open_exactly(before, args.encoding, args.path)
        if args.encoding is not None and not document.mark and not document.codec.startswith("utf"):
            _refuse_utf8(before, args.encoding, args.path)
        content = self._content(document)
        self.after = (self.before or "") + content
        return document.encode_part(content)

    def _replaced(self, before: bytes) -> bytes:
        args = self.args
        document = self._kept(before) if before else None
        content = self.after = self._content(document)
        if args.encoding is None and document is not None:
            return document.encode(content)
        if document is not None and document.has_returns and args.line_ends == "keep":
            content = content.replace("\n", "\r")
        return encode(content, args.encoding or "utf-8")

    def _kept(self, before: bytes) -> TextDocument | None:
        """Return the existing text, whose encoding and line endings are preserved; None if not
        text.
        """
        args = self.args
        try:
            return open_document(before, None, args.path)
        except ToolFailed as error:
            if args.encoding is not None or error.details.get("code") == "binary_file":
                return None
            raise ToolFailed(
                f"{error.message}, or encoding='utf-8' to change it", **error.details
            ) from None

    def _content(self, document: TextDocument | None) -> str:
        args = self.args
        if args.line_ends != "keep":
            return with_newlines(args.content, _ENDS[args.line_ends])
        return args.content if document is None else document.with_own_newlines(args.content)


def _refuse_utf8(data: bytes, encoding: str, path: str) -> None:
    """Refuse to append another encoding to UTF-8."""
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    raise ToolFailed(
        f"{path!r} is UTF-8 text, to which {encoding} cannot be appended; omit encoding",
        code="wrong_encoding",
        path=path,
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
    return_schema=WRITE_FILE_RESULT,
)
async def write_file(args: WriteFileArgs, ctx: ToolContext) -> ToolResult:
    """Create, replace or append to a text file; preserves encoding and line endings.

    To change part of an existing file prefer edit_file. Returns the size written.
    """
    change = _WriteChange(args)
    append = change.append
    fresh = not append and not args.overwrite_changed
    (edited,) = await ctx.operations.files.apply([args.path], change, fresh=fresh)
    diff = await asyncio.to_thread(unified_diff, edited.path, change.before, change.after)
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
