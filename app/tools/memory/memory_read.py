"""`memory_read`: reads memory by line."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.domain.memory import MEMORY
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, ToolArgs, tool
from app.tools.memory.lines import ScopeName, line_text, marked, shown
from app.tools.memory.returns import MEMORY_READ_RESULT
from app.tools.memory.scopes import memory_of, places_of

MAX_LINES = 500


class MemoryReadArgs(ToolArgs):
    start_line: int | None = Field(default=None, ge=1, description="First line, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, inclusive.")
    recent_count: int = Field(
        default=10, ge=1, le=MAX_LINES, description="Without lines: number of newest lines."
    )
    scope: ScopeName | None = Field(
        default=None, description="Only this memory, with its own line numbers; default: all."
    )

    @model_validator(mode="after")
    def _in_order(self) -> MemoryReadArgs:
        start, end = self.start_line or 1, self.end_line
        if end is not None and end < start:
            raise FieldError(
                "end_line must not be before start_line",
                code="wrong_order",
                given="end_line",
                needed="start_line",
            )
        if end is not None and end - start >= MAX_LINES:
            raise FieldError(
                f"at most {MAX_LINES} lines per call; read the rest in further calls",
                code="too_many_lines",
                le=MAX_LINES,
            )
        return self

    @property
    def lines(self) -> tuple[int, int]:
        """Return first and last line; negative ones count from the end."""
        if self.start_line is None and self.end_line is None:
            return -self.recent_count, -1
        start = self.start_line or 1
        return start, self.end_line or start + MAX_LINES - 1


@tool(
    category="memory",
    toolset="memory",
    permission=PermissionClass.READ,
    kind="read",
    requires=(MEMORY,),
    routing_hint="main-process-proxy",
    tags=("memory", "read"),
    argument_aliases={"start": "start_line", "end": "end_line", "recent": "recent_count"},
    return_schema=MEMORY_READ_RESULT,
)
async def memory_read(args: MemoryReadArgs, ctx: ToolContext) -> ToolResult:
    """Read memory by line, oldest first; without lines, the newest.

    To search, use memory_recall. Returns lines `[n] date|source|content`.
    """
    start, end = args.lines
    page = await memory_of(ctx).read(places_of(ctx, args.scope), start, end)
    data: dict[str, Any] = {"lines": [shown(line) for line in page.lines], "total": page.total}
    if not page.lines:
        where = f"Lines {start} to {end} do not exist: " if start > 0 and page.total else ""
        return ToolResult.ok(data, text=f"{where}{page.total} lines in total")
    text = "\n".join(line_text(line) for line in page.lines)
    text = marked(text, [line.memory for line in page.lines], ctx.session_id)
    first, last = page.lines[0].number, page.lines[-1].number
    said = f"{text}\n(lines {first} to {last} of {page.total})"
    return ToolResult.ok(data, text=said, raw_result=RawResult("json", data))
