"""`edit_file`: changes part of a file, by text or by line number."""

from __future__ import annotations

import asyncio

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.core.text import truncate
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import Encoding, PathText
from app.tools.files.diff import unified_diff
from app.tools.files.document import open_exactly, with_escapes
from app.tools.files.edits import insert_lines, replace_lines, replace_text
from app.tools.files.returns import EDIT_FILE_RESULT
from app.tools.files.text import MAX_FILE_BYTES

_SHOWN_DIFF = 6000


class EditFileArgs(ToolArgs):
    path: PathText = Field(description="Existing file to change.")
    new_text: str = Field(max_length=MAX_FILE_BYTES, description="Replacement; empty deletes.")
    old_text: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_FILE_BYTES,
        description="Exact text to replace, whitespace included; must occur once.",
    )
    replace_all: bool = Field(default=False, description="Replace every occurrence of old_text.")
    expected_replacements: int | None = Field(
        default=None, ge=1, description="Replace all, but only if there are exactly this many."
    )
    start_line: int | None = Field(
        default=None, ge=1, description="Instead of old_text: first line to replace, from 1."
    )
    end_line: int | None = Field(
        default=None, ge=1, description="Last line, inclusive; start_line by default."
    )
    insert: bool = Field(default=False, description="Insert before start_line, without replacing.")
    encoding: Encoding | None = Field(
        default=None, description="Such as utf-8 or gbk; default: the file's own."
    )
    overwrite_changed: bool = Field(
        default=False,
        description="With start_line: also edit a file that changed since it was read.",
    )

    @model_validator(mode="after")
    def _one_mode(self) -> EditFileArgs:
        if (self.old_text is None) == (self.start_line is None):
            raise FieldError(
                "set either old_text or start_line", code="one_of", needed="old_text, start_line"
            )
        if self.start_line is None:
            if self.end_line is not None or self.insert:
                raise FieldError(
                    "end_line and insert require start_line",
                    code="only_with",
                    given="end_line, insert",
                    needed="start_line",
                )
            return self
        if self.replace_all or self.expected_replacements is not None:
            raise FieldError(
                "replace_all and expected_replacements require old_text",
                code="only_with",
                given="replace_all, expected_replacements",
                needed="old_text",
            )
        if self.insert and (self.end_line is not None or not self.new_text):
            raise FieldError(
                "insert requires start_line and a non-empty new_text", code="bad_insert"
            )
        if self.end_line is not None and self.end_line < self.start_line:
            raise FieldError(
                "end_line must not be before start_line",
                code="wrong_order",
                given="end_line",
                needed="start_line",
            )
        return self


class _EditChange:
    """Change as a function of bytes; records the texts and the number of changed places."""

    def __init__(self, args: EditFileArgs) -> None:
        self.args = args
        self.replacements = 0
        self.before = self.after = ""

    def __call__(self, data: bytes) -> bytes:
        args = self.args
        if len(data) > MAX_FILE_BYTES:
            raise ToolFailed(
                f"{args.path!r} has {len(data)} bytes; the maximum for an edit is {MAX_FILE_BYTES}",
                code="file_too_large",
            )
        document = open_exactly(data, args.encoding, args.path)
        changed = self._changed(document.text)
        self.before, self.after = document.shown(), with_escapes(changed)
        return document.encode(changed)

    def _changed(self, text: str) -> str:
        args = self.args
        if args.start_line is None:
            changed, self.replacements = replace_text(
                text,
                args.old_text or "",
                args.new_text,
                every=args.replace_all,
                expected=args.expected_replacements,
            )
            return changed
        self.replacements = 1
        if args.insert:
            return insert_lines(text, args.start_line, args.new_text)
        return replace_lines(text, args.start_line, args.end_line or args.start_line, args.new_text)


@tool(
    category="file",
    toolset="files",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="edit",
    needs_project=True,
    routing_hint="main-process-proxy",
    tags=("file", "write", "edit"),
    argument_aliases={
        "file_path": "path",
        "filename": "path",
        "old_string": "old_text",
        "old_str": "old_text",
        "new_string": "new_text",
        "new_str": "new_text",
    },
    aliases=(
        Alias("edit", families=("netaclaw",)),
        Alias("EditTool", families=("jarvis", "claude")),
    ),
    return_schema=EDIT_FILE_RESULT,
)
async def edit_file(args: EditFileArgs, ctx: ToolContext) -> ToolResult:
    """Edit a text file: replace old_text with new_text, or lines by number.

    Prefer it over write_file for existing files, and over sed in bash. Read the file first:
    old_text must match exactly once. Preserves encoding and line ends. Returns a diff.
    """
    change = _EditChange(args)
    # Replaced text must match; a line number does not prove what the line contains.
    fresh = args.start_line is not None and not args.overwrite_changed
    edited = await ctx.operations.files.edit(args.path, change, fresh=fresh)
    diff = await asyncio.to_thread(unified_diff, edited.path, change.before, change.after)
    data = {
        "path": args.path,
        "replacements": change.replacements,
        "added": diff.added,
        "removed": diff.removed,
        "diff": diff.text,
    }
    head = (
        f"Edited {args.path}: {change.replacements} place(s), +{diff.added} -{diff.removed} lines"
    )
    shown = truncate(diff.text, _SHOWN_DIFF, "\n… (diff cut)")
    return ToolResult.ok(data, text=f"{head}\n{shown}", raw_result=diff.raw_result())
