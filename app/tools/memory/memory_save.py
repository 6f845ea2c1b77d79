"""`memory_save`: stores something for later sessions, or changes a stored memory."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.domain.memory import MEMORY, MemoryInput, Saved
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.memory.lines import KeyText, ScopeName, Tag, marked
from app.tools.memory.returns import MEMORY_SAVE_RESULT
from app.tools.memory.scopes import memory_of, place_of, places_of, why_sharing_asks, writer_of

MAX_CONTENT_CHARS = 20_000


class MemorySaveArgs(ToolArgs):
    content: str = Field(
        min_length=1,
        max_length=MAX_CONTENT_CHARS,
        pattern=r"\S",
        description="What to remember, understandable on its own. Never a secret.",
    )
    tags: list[Tag] = Field(default_factory=list, max_length=20, description="Tags to find it by.")
    scope: ScopeName = Field(
        default="user",
        description="Whose memory: user (private), agent (all users of this agent) or project "
        "(all its members).",
    )
    key: KeyText | None = Field(
        default=None, description="A name without spaces, such as favorite-editor."
    )
    version: int | None = Field(
        default=None,
        ge=1,
        description="To replace the memory with this `key`: its version as recalled.",
    )

    @model_validator(mode="after")
    def _names_what_it_replaces(self) -> MemorySaveArgs:
        if self.version is not None and self.key is None:
            raise FieldError(
                "version requires the key of the memory to replace",
                code="needs",
                given="version",
                needed="key",
            )
        return self


def confirmation_reason(args: MemorySaveArgs, services: Services) -> str | None:
    """Return why the call needs approval."""
    return why_sharing_asks(args.scope, services)


def _on_one_line(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `memory_write`: one line; items within it are separated by ；."""
    content = raw.get("content")
    return {**raw, "content": " ".join(content.split())} if isinstance(content, str) else raw


def _line_shape(result: ToolResult) -> ToolResult:
    """Return the result of `memory_write`: which line was written, of how many."""
    if not result.success:
        return result
    data = {"success": True, "line": result.data["line"], "total": result.data["total"]}
    return ToolResult.ok(data, text=result.text)


@tool(
    category="memory",
    toolset="memory",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="edit",
    requires=(MEMORY,),
    asks=confirmation_reason,
    routing_hint="main-process-proxy",
    tags=("memory", "write"),
    argument_aliases={"text": "content", "memory": "content"},
    aliases=(Alias("memory_write", _on_one_line, _line_shape, families=("countbot",)),),
    return_schema=MEMORY_SAVE_RESULT,
)
async def memory_save(args: MemorySaveArgs, ctx: ToolContext) -> ToolResult:
    """Remember something across sessions: preferences, decisions, facts that are useful later.

    Recall first to avoid duplicates. To change a memory, set its key and version; a key in use is
    refused and its content is returned. Returns the line number.
    """
    memory, place = memory_of(ctx), place_of(ctx, args.scope)
    draft = MemoryInput(args.content, tuple(args.tags), args.key)
    saved = await memory.save(place, draft, writer_of(ctx), expected=args.version)
    if saved.ending == "conflict":
        return _conflict(saved, args.version, ctx)
    line, total = await memory.line_of(places_of(ctx, None), saved.memory)
    verb = {"created": "Saved", "changed": "Changed"}.get(saved.ending, "Unchanged:")
    name = f"{args.scope}/{saved.memory.key} v{saved.memory.version}"
    text = f"{verb} line {line} of {total} ({name})"
    if saved.warns:
        text += (
            f"\nWarning: {saved.used} of {saved.limit} memories of this {args.scope} "
            "are used; at the limit, saving fails. Delete outdated ones."
        )
    data = {
        "line": line,
        "total": total,
        "ending": saved.ending,
        "scope": args.scope,
        "key": saved.memory.key,
        "version": saved.memory.version,
        "used": saved.used,
        "limit": saved.limit,
    }
    return ToolResult.ok(data, text=text)


def _conflict(saved: Saved, expected: int | None, ctx: ToolContext) -> ToolResult:
    """Return the stored memory after a conflict, so that the caller can merge both."""
    stored = saved.memory
    why = "is already used" if expected is None else f"is no longer at version {expected}"
    error = (
        f"The key {stored.key!r} {why}: save again with version={stored.version} to replace what"
        " is stored, or under another key"
    )
    data = {
        "key": stored.key,
        "version": stored.version,
        "stored": stored.content,
        "tags": list(stored.tags),
        "updated_at": stored.updated_at,
    }
    text = f"{error}. Stored:\n{marked(stored.content, [stored], ctx.session_id)}"
    return ToolResult.fail(error, code="memory_conflict", data=data, text=text)
