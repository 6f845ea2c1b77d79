"""`file_search`: finds files by name and content, for agents that know it by this name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.operations.protocols.files import FileStat
from app.operations.protocols.search import FindQuery, GrepQuery
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.search.named_paths import paths_in_glob
from app.tools.search.returns import FILE_SEARCH_RESULT

_MAX_FILE_BYTES = 2 << 20
_MAX_LINE_CHARS = 500
_UNLIMITED = -1


class FileSearchArgs(ToolArgs):
    query: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Text in the files, case-insensitive.",
    )
    pattern: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Glob for names such as *.py, case-insensitive.",
    )
    path: PathText = Field(default=".", description="Directory to search.")
    type: Literal["file", "dir", "all"] | None = Field(
        default=None, description="Type of names to list; default: all, unless query is given."
    )
    max_depth: int = Field(
        default=_UNLIMITED, ge=_UNLIMITED, le=200, description="Levels of folders; -1 for all."
    )
    limit: int = Field(default=20, ge=1, le=100, description="Maximum results.")

    @model_validator(mode="after")
    def _content_is_in_files(self) -> FileSearchArgs:
        if self.query is not None and self.type == "dir":
            raise FieldError(
                "query searches file contents: omit type or query",
                code="not_with",
                given="type",
                needed="query",
            )
        return self

    @property
    def depth(self) -> int | None:
        """Return the deepest listed level; level 0 are the entries of `path`."""
        return None if self.max_depth == _UNLIMITED else self.max_depth + 1


@tool(
    category="file",
    toolset="search",
    kind="search",
    cacheable=True,
    needs_project=True,
    tags=("file", "search"),
    paths_in=paths_in_glob("pattern"),
    argument_aliases={
        "directory": "path",
        "dir": "path",
        "glob": "pattern",
        "name": "pattern",
        "text": "query",
        "content": "query",
        "max_results": "limit",
    },
    return_schema=FILE_SEARCH_RESULT,
)
async def file_search(args: FileSearchArgs, ctx: ToolContext) -> ToolResult:
    """Search files by content (query), by name (pattern), or by both.

    Returns matching lines as path:line:text, or paths. Skips hidden and ignored files. For regular
    expressions and context use grep, for paging find_files.
    """
    if args.query is None:
        return await _names(args, ctx)
    if args.pattern is None:
        return await _lines(args, args.query, ctx)
    return await _names_with_content(args, args.query, ctx)


async def _names(args: FileSearchArgs, ctx: ToolContext) -> ToolResult:
    query = FindQuery(
        path=args.path,
        pattern=args.pattern or "*",
        type=args.type or "all",
        limit=args.limit,
        max_depth=args.depth,
        case_insensitive=True,
    )
    found = await ctx.operations.search.find(query)
    table = [_row(entry) for entry in found.entries]
    shown = [f"{row['path']}/" if row["type"] == "directory" else row["path"] for row in table]
    data = {
        "searched": "names",
        "files": [row["path"] for row in table],
        "total": found.total,
        "truncated": found.truncated,
    }
    return ToolResult.ok(data, text=_text(data, shown), raw_result=RawResult("table", table))


async def _lines(args: FileSearchArgs, text: str, ctx: ToolContext) -> ToolResult:
    found = await ctx.operations.search.grep(_content_query(args, text, "content"))
    matches = [
        {"path": line.path, "line": line.line_number, "text": line.text[:_MAX_LINE_CHARS]}
        for line in found.lines
    ]
    shown = [f"{match['path']}:{match['line']}:{match['text']}" for match in matches]
    data = {
        "searched": "content",
        "files": list(dict.fromkeys(line.path for line in found.lines)),
        "matches": matches,
        "total": found.total,
        "truncated": found.truncated,
    }
    return ToolResult.ok(data, text=_text(data, shown), raw_result=RawResult("table", matches))


async def _names_with_content(args: FileSearchArgs, text: str, ctx: ToolContext) -> ToolResult:
    query = _content_query(args, text, "files_with_matches")
    found = await ctx.operations.search.grep(query)
    files = [path for path, _ in found.counts]
    data = {
        "searched": "names and content",
        "files": files,
        "total": found.total,
        "truncated": found.truncated,
    }
    table = [{"path": path} for path in files]
    return ToolResult.ok(data, text=_text(data, files), raw_result=RawResult("table", table))


def _content_query(
    args: FileSearchArgs, text: str, mode: Literal["content", "files_with_matches"]
) -> GrepQuery:
    return GrepQuery(
        pattern=text,
        path=args.path,
        glob=args.pattern,
        glob_case_insensitive=True,
        mode=mode,
        fixed_strings=True,
        case_insensitive=True,
        limit=args.limit,
        max_depth=args.depth,
        max_file_bytes=_MAX_FILE_BYTES,
    )


def _row(entry: FileStat) -> dict[str, Any]:
    return {
        "path": entry.path,
        "type": entry.type,
        "size": entry.size,
        "modified": entry.modified.isoformat(),
    }


def _text(data: dict[str, Any], shown: list[str]) -> str:
    if not shown:
        return f"No results in {data['searched']}"
    if not data["truncated"]:
        return "\n".join(shown)
    rest = f"[{len(shown)} of {data['total']} shown: raise limit, or narrow path or pattern]"
    return "\n".join([*shown, rest])
