"""`list_dir`: lists a directory."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from pydantic import Field

from app.operations.globs import compile_glob
from app.operations.protocols.files import FileStat
from app.operations.protocols.search import FindQuery
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.files.returns import LIST_DIR_RESULT

_MAX_ENTRIES = 5000
_MAX_SCANNED = 20_000
_INDENT = "  "


class ListDirArgs(ToolArgs):
    path: PathText = Field(default=".", description="Directory to list.")
    pattern: str = Field(
        default="*", min_length=1, max_length=1000, description="Only names that match this glob."
    )
    recursive: bool = Field(
        default=False, description="Include subfolders, except those in .gitignore."
    )
    max_depth: int | None = Field(
        default=None, ge=1, le=200, description="Levels for recursive; 1 for direct entries only."
    )
    max_entries: int = Field(default=200, ge=1, le=_MAX_ENTRIES, description="Maximum entries.")


def _as_file_list(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"max_entries": _MAX_ENTRIES, **arguments}


def _file_list_shape(result: ToolResult) -> ToolResult:
    if not result.success:
        return result
    entries = result.data["entries"]
    files = [entry for entry in entries if entry["type"] != "directory"]
    directories = [entry for entry in entries if entry["type"] == "directory"]
    shape: dict[str, Any] = {
        "success": True,
        "path": result.data["path"],
        "files": [{key: entry[key] for key in ("name", "size", "path")} for entry in files],
        "directories": [{key: entry[key] for key in ("name", "path")} for entry in directories],
        "total_files": result.data["total_files"],
        "total_dirs": result.data["total_dirs"],
    }
    return ToolResult.ok(shape, raw_result=result.raw_result)


@tool(
    category="file",
    toolset="files",
    kind="read",
    cacheable=True,
    needs_project=True,
    tags=("file", "list"),
    argument_aliases={"dir": "path", "directory": "path", "dir_path": "path", "glob": "pattern"},
    aliases=(
        Alias(
            "file_list",
            adapt=_as_file_list,
            reshape=_file_list_shape,
            families=("nanoclaw",),
        ),
    ),
    return_schema=LIST_DIR_RESULT,
)
async def list_dir(args: ListDirArgs, ctx: ToolContext) -> ToolResult:
    """List a directory: folders (with a trailing /), then files with their size in bytes.

    recursive shows the tree, without files ignored by .gitignore.
    To find files by name in the whole workspace prefer find_files.
    """
    matching, total = await (_below(args, ctx) if args.recursive else _children(args, ctx))
    shown = matching[: args.max_entries]
    lines = await _tree(args, shown, ctx) if args.recursive else [_line(entry) for entry in shown]
    directories = sum(1 for entry in matching if entry.type == "directory")
    data = {
        "path": args.path,
        "entries": [_entry(entry) for entry in shown],
        "total_files": total - directories,
        "total_dirs": directories,
        "truncated": len(shown) < total,
    }
    text = _text(args, lines, total - len(shown), data)
    return ToolResult.ok(data, text=text, raw_result=RawResult("table", data["entries"]))


async def _children(args: ListDirArgs, ctx: ToolContext) -> tuple[list[FileStat], int]:
    matches = compile_glob(args.pattern)
    children = await ctx.operations.files.list_dir(args.path)
    matching = [child for child in children if matches(_name(child))]
    return matching, len(matching)


async def _below(args: ListDirArgs, ctx: ToolContext) -> tuple[list[FileStat], int]:
    """Return the first entries of the tree and their number; those beyond count as files."""
    query = FindQuery(
        path=args.path,
        pattern=args.pattern,
        type="all",
        limit=_MAX_SCANNED,
        max_depth=args.max_depth,
        include_hidden=True,
    )
    found = await ctx.operations.search.find(query)
    return list(found.entries), found.total


def _name(entry: FileStat) -> str:
    return PurePosixPath(entry.path).name


def _entry(entry: FileStat) -> dict[str, Any]:
    return {
        "name": _name(entry),
        "path": entry.path,
        "type": entry.type,
        "size": entry.size,
        "modified": entry.modified.isoformat(),
    }


def _text(args: ListDirArgs, lines: list[str], more: int, data: dict[str, Any]) -> str:
    counts = f"Files: {data['total_files']} | Directories: {data['total_dirs']}"
    head = f"[Directory: {args.path} | {counts}]"
    if not lines:
        empty = "(empty)" if args.pattern == "*" else f"(no name matches {args.pattern})"
        return f"{head}\n{empty}"
    if more:
        lines = [*lines, f"[{more} more: raise max_entries or narrow pattern]"]
    return "\n".join([head, *lines])


async def _tree(args: ListDirArgs, shown: list[FileStat], ctx: ToolContext) -> list[str]:
    """Return each entry indented below its folder; folders excluded by `pattern` are included."""
    lines: list[str] = []
    above: tuple[str, ...] = ()
    top = await ctx.operations.files.stat(args.path)
    skipped = len(PurePosixPath(top.path).parts) if top else 0
    for entry in shown:
        parts = PurePosixPath(entry.path).parts[skipped:]
        same = 0
        while same < min(len(above), len(parts) - 1) and above[same] == parts[same]:
            same += 1
        lines += [f"{_INDENT * depth}{parts[depth]}/" for depth in range(same, len(parts) - 1)]
        lines.append(_INDENT * (len(parts) - 1) + _line(entry))
        above = parts if entry.type == "directory" else parts[:-1]
    return lines


def _line(entry: FileStat) -> str:
    name = _name(entry)
    return f"{name}/" if entry.type == "directory" else f"{name}  {entry.size}"
