"""`search`: searches earlier sessions, memory, files and tools."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from app.core.errors import ToolFailed
from app.domain.history import SESSION_SEARCH, SessionSearch, Visitor
from app.domain.memory import RecallQuery
from app.operations.protocols.search import FindQuery, GrepQuery
from app.toolkit.context import ToolContext
from app.toolkit.ports import TOOL_FINDER, ToolFinder
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.memory.scopes import memory_of, places_of
from app.tools.system.returns import SEARCH_RESULT
from app.tools.untrusted import untrusted

_MAX_WORDS = 8
_MAX_LINE = 200
_MAX_FILE_BYTES = 2 << 20
_SPECIAL_IN_GLOB = re.compile(r"[*?\[\]{}!/\\]")

Row = dict[str, Any]


class SearchArgs(ToolArgs):
    query: str = Field(
        min_length=1, max_length=300, pattern=r"\S", description="Words to search for."
    )
    scope: Literal["sessions", "memory", "files", "tools", "all"] = Field(
        default="all", description="Where to search."
    )
    limit: int = Field(default=5, ge=1, le=50, description="Maximum results per scope.")


@tool(
    category="system",
    toolset="system",
    kind="search",
    routing_hint="main-process-proxy",
    tags=("search", "sessions", "memory"),
    argument_aliases={"q": "query", "max_results": "limit"},
    return_schema=SEARCH_RESULT,
)
async def search(args: SearchArgs, ctx: ToolContext) -> ToolResult:
    """Search earlier sessions with this user, memory, files and tools for words.

    Use it when you do not know where something is; grep, find_files and memory_recall search one
    place in depth. Returns results by scope, best first, and the scopes that could not be searched.
    """
    found: dict[str, list[Row]] = {}
    unavailable: dict[str, str] = {}
    for scope in _SEARCHES if args.scope == "all" else (args.scope,):
        try:
            found[scope] = (await _SEARCHES[scope](args, ctx))[: args.limit]
        except ToolFailed as error:
            if args.scope != "all":
                raise
            unavailable[scope] = error.message
    total = sum(map(len, found.values()))
    data = {"results": found, "total": total, "unavailable": unavailable}
    return ToolResult.ok(data, text=_text(found, unavailable), raw_result=RawResult("json", data))


async def _sessions(args: SearchArgs, ctx: ToolContext) -> list[Row]:
    if not ctx.user_id:
        raise ToolFailed("Sessions require a user, but this call has none", code="no_user")
    service = ctx.services.require(SESSION_SEARCH, SessionSearch)  # type: ignore[type-abstract]
    visitor = Visitor(ctx.user_id, ctx.agent_id, ctx.project_id, ctx.session_id)
    words = args.query.split()[:_MAX_WORDS]
    if not words:
        return []
    return [
        {
            "source": f"session {message.session_id}",
            "session_id": message.session_id,
            "title": message.title,
            "entry_id": message.entry_id,
            "role": message.role,
            "text": message.excerpt,
            "created_at": message.created_at,
        }
        for message in await service.search(words, visitor, limit=args.limit)
    ]


async def _memory(args: SearchArgs, ctx: ToolContext) -> list[Row]:
    found = await memory_of(ctx).recall(
        places_of(ctx, None), RecallQuery(args.query, limit=args.limit)
    )
    return [
        {
            "source": f"memory of the {line.memory.place.scope}",
            "key": line.memory.key,
            "text": line.memory.content[:_MAX_LINE],
            "created_at": line.memory.created_at,
        }
        for line in found.lines
    ]


async def _files(args: SearchArgs, ctx: ToolContext) -> list[Row]:
    """Return names that contain the query, then lines that do."""
    look = ctx.operations.search
    plain = " ".join(args.query.split())
    name = _SPECIAL_IN_GLOB.sub("?", plain)
    names = await look.find(FindQuery(pattern=f"*{name}*", limit=args.limit, case_insensitive=True))
    rows: list[Row] = [
        {"source": f"file {entry.path}", "path": entry.path, "line": None, "text": entry.path}
        for entry in names.entries
    ]
    lines = await look.grep(
        GrepQuery(
            pattern=plain,
            fixed_strings=True,
            case_insensitive=True,
            limit=args.limit,
            max_file_bytes=_MAX_FILE_BYTES,
        )
    )
    rows += [
        {
            "source": f"file {line.path}:{line.line_number}",
            "path": line.path,
            "line": line.line_number,
            "text": line.text.strip()[:_MAX_LINE],
        }
        for line in lines.lines
    ]
    return rows


async def _tools(args: SearchArgs, ctx: ToolContext) -> list[Row]:
    finder = ctx.services.require(TOOL_FINDER, ToolFinder)  # type: ignore[type-abstract]
    found = finder.find(
        args.query, agent_id=ctx.agent_id, run_id=ctx.run_id, limit=args.limit, shown=True
    )
    return [
        {"source": "tools", "name": item.name, "text": f"{item.name}: {item.summary}"}
        for item in found
    ]


_SEARCHES: Mapping[str, Callable[[SearchArgs, ToolContext], Awaitable[list[Row]]]] = (
    MappingProxyType({"sessions": _sessions, "memory": _memory, "files": _files, "tools": _tools})
)


def _text(found: dict[str, list[Row]], unavailable: dict[str, str]) -> str:
    lines = [f"[{row['source']}] {row['text']}" for rows in found.values() for row in rows]
    described = untrusted("\n".join(lines), "search") if lines else "No results."
    missing = [f"({scope} could not be searched: {why})" for scope, why in unavailable.items()]
    return "\n".join([described, *missing])
