"""`read_result`: returns the full result of an earlier call of this session."""

from __future__ import annotations

from pydantic import Field

from app.core.errors import ToolFailed
from app.domain.history import STORED_RESULTS, ResultReader, StoredResults
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.system.returns import READ_RESULT_RESULT
from app.tools.untrusted import untrusted

_LISTED = 30


class ReadResultArgs(ToolArgs):
    tool_call_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="ID of the call, as in the truncated result; omit to list the newest calls.",
    )
    offset: int = Field(default=0, ge=0, description="First character, from 0.")
    limit: int = Field(default=8_000, ge=100, le=30_000, description="Maximum characters.")


@tool(
    category="system",
    toolset="system",
    kind="read",
    routing_hint="main-process-proxy",
    tags=("results", "history"),
    argument_aliases={"id": "tool_call_id", "call_id": "tool_call_id"},
    return_schema=READ_RESULT_RESULT,
)
async def read_result(args: ReadResultArgs, ctx: ToolContext) -> ToolResult:
    """Read the rest of the result of an earlier tool call of this session.

    Use it when an older result was truncated. Returns the text from offset, the total number of
    characters, and the next offset.
    """
    if not ctx.session_id:
        raise ToolFailed("Results require a session, but this call has none", code="no_session")
    stored = ctx.services.require(STORED_RESULTS, StoredResults)  # type: ignore[type-abstract]
    reader = ResultReader(ctx.session_id, ctx.run_id)
    if args.tool_call_id is None:
        calls = await stored.newest(reader, limit=_LISTED)
        rows = [
            {"tool_call_id": call.tool_call_id, "tool_name": call.tool_name, "chars": call.chars}
            for call in calls
        ]
        lines = [f"{row['tool_call_id']}: {row['tool_name']}, {row['chars']} chars" for row in rows]
        text = "\n".join(lines) or "No call of this session has ended yet."
        return ToolResult.ok({"calls": rows}, text=text)
    found = await stored.find(reader, args.tool_call_id)
    if found is None:
        raise ToolFailed(
            f"Call {args.tool_call_id!r} of this session has no result; omit "
            "tool_call_id to list the newest calls",
            code="not_found",
            tool_call_id=args.tool_call_id,
        )
    part = found.text[args.offset : args.offset + args.limit]
    end = args.offset + len(part)
    going_on = end if end < len(found.text) else None
    data = {
        "tool_name": found.tool_name,
        "content": part,
        "offset": args.offset,
        "total_chars": len(found.text),
        "next_offset": going_on,
    }
    head = f"[{found.tool_name}: characters {args.offset} to {end} of {len(found.text)}]"
    more = f"\n[Continue with offset={going_on}.]" if going_on is not None else ""
    message = f"{head}\n{untrusted(part, found.tool_name)}{more}"
    return ToolResult.ok(data, text=message, raw_result=RawResult("text", part))
