"""`list_dir`: what a directory holds."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from pydantic import Field

from app.operations.globs import compile_glob
from app.operations.protocols import FileStat, FindQuery
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import PathText

_MAX_ENTRIES = 5000
_MAX_SCANNED = 20_000


class ListDirArgs(ToolArgs):
    path: PathText = Field(default=".", description="Directory to list.")
    pattern: str = Field(
        default="*", min_length=1, max_length=1000, description="Only names that match this glob."
    )
    recursive: bool = Field(
        default=False, description="Also list what is below, but for what .gitignore names."
    )
    max_entries: int = Field(default=200, ge=1, le=_MAX_ENTRIES, description="Most entries.")


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
)
async def list_dir(args: ListDirArgs, ctx: ToolContext) -> ToolResult:
    """List a directory: folders (with a trailing /), then files with their size in bytes.

    To look for files by name in the whole workspace prefer find_files.
    """
    matching = await (_below(args, ctx) if args.recursive else _children(args, ctx))
    shown = matching[: args.max_entries]
    directories = sum(1 for entry in matching if entry.type == "directory")
    data = {
        "path": args.path,
        "entries": [_entry(entry) for entry in shown],
        "total_files": len(matching) - directories,
        "total_dirs": directories,
        "truncated": len(shown) < len(matching),
    }
    text = _text(args, shown, len(matching), directories)
    return ToolResult.ok(data, text=text, raw_result=RawResult("table", data["entries"]))


async def _children(args: ListDirArgs, ctx: ToolContext) -> list[FileStat]:
    matches = compile_glob(args.pattern)
    children = await ctx.operations.files.list_dir(args.path)
    return [child for child in children if matches(_name(child))]


async def _below(args: ListDirArgs, ctx: ToolContext) -> list[FileStat]:
    query = FindQuery(
        path=args.path, pattern=args.pattern, type="all", limit=_MAX_SCANNED, include_hidden=True
    )
    return list((await ctx.operations.search.find(query)).entries)


def _name(entry: FileStat) -> str:
    return PurePosixPath(entry.path).name


def _entry(entry: FileStat) -> dict[str, Any]:
    return {"name": _name(entry), "path": entry.path, "type": entry.type, "size": entry.size}


def _text(args: ListDirArgs, shown: list[FileStat], total: int, directories: int) -> str:
    head = f"[Directory: {args.path} | Files: {total - directories} | Directories: {directories}]"
    lines = [_line(entry, entry.path if args.recursive else _name(entry)) for entry in shown]
    if not total:
        lines.append(
            "(nothing here)" if args.pattern == "*" else f"(no name matches {args.pattern})"
        )
    if len(shown) < total:
        lines.append(f"[{total - len(shown)} more: raise max_entries or narrow pattern]")
    return "\n".join([head, *lines])


def _line(entry: FileStat, label: str) -> str:
    return f"{label}/" if entry.type == "directory" else f"{label}  {entry.size}"
