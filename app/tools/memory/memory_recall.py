"""`memory_recall`: searches memory."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.domain.memory import MEMORY, Recalled, RecallQuery
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, ToolArgs, tool
from app.tools.memory.lines import ScopeName, Tag, line_text, marked, plain_lines, shown
from app.tools.memory.returns import MEMORY_RECALL_RESULT
from app.tools.memory.scopes import memory_of, places_of


class MemoryRecallArgs(ToolArgs):
    query: str | None = Field(
        default=None,
        max_length=10_000,
        description='Words to search for, in any language; "a phrase", prefix*.',
    )
    max_results: int = Field(default=15, ge=1, le=100, description="Maximum lines.")
    match_mode: Literal["or", "and"] = Field(
        default="or", description="Any of the words, best first; or all of them."
    )
    scope: ScopeName | None = Field(default=None, description="Only this memory; default: all.")
    tags: list[Tag] = Field(
        default_factory=list, max_length=20, description="Only memories with all of these tags."
    )

    @model_validator(mode="after")
    def _asks_for_something(self) -> MemoryRecallArgs:
        if self.query is None and not self.tags:
            raise FieldError(
                "set query, tags or both; memory_read shows the newest lines",
                code="some_of",
                needed="query, tags",
            )
        return self


@tool(
    category="memory",
    toolset="memory",
    permission=PermissionClass.READ,
    kind="search",
    requires=(MEMORY,),
    routing_hint="main-process-proxy",
    tags=("memory", "search"),
    argument_aliases={"keywords": "query", "limit": "max_results", "mode": "match_mode"},
    aliases=(Alias("memory_search", reshape=plain_lines, families=("countbot",)),),
    return_schema=MEMORY_RECALL_RESULT,
)
async def memory_recall(args: MemoryRecallArgs, ctx: ToolContext) -> ToolResult:
    """Recall memories of earlier sessions; try it before you ask the user again.

    Returns lines `[n] date|source|content`, best match first, then newest, each with the key and
    version to change or delete it.
    """
    wanted = RecallQuery(args.query, tuple(args.tags), args.match_mode, args.max_results)
    found = await memory_of(ctx).recall(places_of(ctx, args.scope), wanted)
    data: dict[str, Any] = {
        "lines": [shown(line) for line in found.lines],
        "total": found.matched,
        "words_left_out": found.left_out,
    }
    text = "\n".join(line_text(line) for line in found.lines)
    if found.lines:
        text = marked(text, [line.memory for line in found.lines], ctx.session_id)
    said = "\n".join(filter(None, (text, *_notes(found))))
    return ToolResult.ok(data, text=said, raw_result=RawResult("json", data))


def _notes(found: Recalled) -> list[str]:
    notes = []
    if found.no_words:
        notes.append("The query contains no searchable word.")
    elif not found.lines:
        notes.append("No matching memories.")
    if found.matched > len(found.lines):
        notes.append(f"({found.matched - len(found.lines)} more match; narrow the query)")
    if found.words_alone:
        notes.append("(found by words only; search by meaning is currently unavailable)")
    if found.left_out:
        notes.append(f"({found.left_out} words of the query were ignored, because it has too many)")
    return notes
