"""`find_files`: finds files by name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.operations.protocols.files import FileStat
from app.operations.protocols.search import FindQuery
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.search.named_paths import paths_in_glob
from app.tools.search.returns import FIND_FILES_RESULT

_MOST = 20_000
_MOST_SCANNED = 200_000


class FindFilesArgs(ToolArgs):
    pattern: str = Field(
        default="**/*",
        min_length=1,
        max_length=1000,
        description="Glob such as **/*.py; without a /, it matches at any depth.",
    )
    path: PathText = Field(default=".", description="Directory to search.")
    query: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Words that must all occur in the path, case-insensitive.",
    )
    type: Literal["file", "dir", "all"] = Field(default="file", description="What to list.")
    sort: Literal["path", "modified"] = Field(
        default="path", description="Sort order; modified lists the newest first."
    )
    head_limit: int = Field(
        default=200, ge=0, le=1000, description=f"Maximum results; 0 for all, up to {_MOST}."
    )
    offset: int = Field(default=0, ge=0, description="Results to skip.")
    include_ignored: bool = Field(
        default=False, description="Include hidden files and those in .gitignore."
    )


@tool(
    category="file",
    toolset="search",
    kind="search",
    cacheable=True,
    needs_project=True,
    tags=("file", "search"),
    paths_in=paths_in_glob("pattern"),
    argument_aliases={
        "glob": "pattern",
        "directory": "path",
        "dir": "path",
        "limit": "head_limit",
        "max_results": "head_limit",
    },
    aliases=(Alias("glob"), Alias("GlobTool", families=("jarvis", "claude"))),
    return_schema=FIND_FILES_RESULT,
)
async def find_files(args: FindFilesArgs, ctx: ToolContext) -> ToolResult:
    """Find files by name pattern; prefer it over find or ls in bash.

    Returns sorted paths. Skips hidden files and files in .gitignore.
    To search inside files use grep.
    """
    entries, total, truncated = await _search(args, ctx)
    paths = [entry.path for entry in entries]
    table = [
        {
            "path": entry.path,
            "type": entry.type,
            "size": entry.size,
            "modified": entry.modified.isoformat(),
        }
        for entry in entries
    ]
    data: dict[str, Any] = {
        "files": paths,
        "entries": table,
        "count": len(paths),
        "total": total,
        "truncated": truncated,
    }
    return ToolResult.ok(data, text=_text(args, data), raw_result=RawResult("table", table))


async def _search(args: FindFilesArgs, ctx: ToolContext) -> tuple[list[FileStat], int, bool]:
    """Return one page of matches, their number, and whether more follow."""
    limit = args.head_limit or _MOST
    query = FindQuery(
        path=args.path,
        pattern=args.pattern,
        type=args.type,
        sort=args.sort,
        limit=limit if args.query is None else _MOST_SCANNED,
        offset=args.offset if args.query is None else 0,
        respect_ignore=not args.include_ignored,
        include_hidden=args.include_ignored,
    )
    found = await ctx.operations.search.find(query)
    if args.query is None:
        return list(found.entries), found.total, found.truncated
    words = args.query.casefold().split()
    fitting = [
        entry for entry in found.entries if all(word in entry.path.casefold() for word in words)
    ]
    page = fitting[args.offset : args.offset + limit]
    more = args.offset + len(page) < len(fitting)
    return page, len(fitting), more or found.truncated


def _text(args: FindFilesArgs, data: dict[str, Any]) -> str:
    if not data["files"]:
        skipped = f" after offset {args.offset}" if data["total"] else ""
        return f"No {args.type if args.type != 'all' else 'path'} matches{skipped}"
    lines = list(data["files"])
    if data["truncated"]:
        reached = args.offset + data["count"]
        lines.append(f"[{data['total']} in total: continue with offset={reached}]")
    return "\n".join(lines)
