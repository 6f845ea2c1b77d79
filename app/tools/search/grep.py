"""`grep`: finds files by content."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.operations.protocols.search import GrepLine, GrepQuery, GrepResult
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.search.file_types import type_glob
from app.tools.search.named_paths import paths_in_glob
from app.tools.search.returns import GREP_RESULT

_MAX_CHARS = 128_000
_MAX_FILE_BYTES = 2 << 20


class GrepArgs(ToolArgs):
    pattern: str = Field(
        min_length=1, max_length=4000, description="Regular expression, RE2 syntax."
    )
    path: PathText = Field(default=".", description="File or directory to search.")
    glob: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Only these files, like *.py; !*.py excludes.",
    )
    type: str | None = Field(
        default=None,
        max_length=20,
        pattern=r"^[\w+-]+$",
        description="Only this file type, like py or ts.",
    )
    output_mode: Literal["content", "files_with_matches", "count"] = Field(
        default="files_with_matches", description="content shows the matching lines."
    )
    case_insensitive: bool = Field(default=False, description="Ignore case.")
    fixed_strings: bool = Field(default=False, description="pattern is plain text.")
    multiline: bool = Field(default=False, description="Allow matches across lines.")
    word: bool = Field(default=False, description="Only whole words.")
    invert: bool = Field(default=False, description="Lines that do not match.")
    context_before: int = Field(default=0, ge=0, le=20, description="Lines before a match.")
    context_after: int = Field(default=0, ge=0, le=20, description="Lines after a match.")
    head_limit: int = Field(
        default=250, ge=1, le=1000, description="Maximum matching lines (content) or files."
    )
    offset: int = Field(default=0, ge=0, description="Matching lines or files to skip.")
    max_columns: int = Field(
        default=500, ge=20, le=10_000, description="Maximum length of a shown line."
    )

    @model_validator(mode="after")
    def _one_filter(self) -> GrepArgs:
        if self.glob is not None and self.type is not None:
            raise FieldError(
                "set either glob or type", code="not_with", given="glob", needed="type"
            )
        return self


def _as_grep(arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert flags of the command line tool: `-n` is always on, `-C` sets both contexts."""
    adapted = {key: value for key, value in arguments.items() if key not in ("-n", "-C", "context")}
    both = arguments.get("-C", arguments.get("context"))
    if both is not None:
        adapted = {"context_before": both, "context_after": both, **adapted}
    return adapted


@tool(
    category="file",
    toolset="search",
    kind="search",
    cacheable=True,
    needs_project=True,
    max_output_chars=_MAX_CHARS + 8000,
    tags=("file", "search"),
    paths_in=paths_in_glob("glob"),
    argument_aliases={
        "regex": "pattern",
        "query": "pattern",
        "include": "glob",
        "-i": "case_insensitive",
        "-A": "context_after",
        "-B": "context_before",
        "-w": "word",
        "-v": "invert",
        "-F": "fixed_strings",
        "limit": "head_limit",
        "max_results": "head_limit",
    },
    aliases=(Alias("GrepTool", adapt=_as_grep, families=("jarvis", "claude")),),
    return_schema=GREP_RESULT,
)
async def grep(args: GrepArgs, ctx: ToolContext) -> ToolResult:
    """Search file contents with a regular expression; prefer it over grep or rg in bash.

    Returns matching files, or with output_mode content the lines as path:line:text. Skips binary,
    hidden and ignored files unless path names them.
    """
    result = await ctx.operations.search.grep(_query(args))
    if args.output_mode == "content":
        return _content(args, result)
    return _files(args, result)


def _query(args: GrepArgs) -> GrepQuery:
    glob = args.glob
    if args.type is not None:
        glob = type_glob(args.type)
    return GrepQuery(
        pattern=args.pattern,
        path=args.path,
        glob=glob,
        mode=args.output_mode,
        fixed_strings=args.fixed_strings,
        case_insensitive=args.case_insensitive,
        multiline=args.multiline,
        word=args.word,
        invert=args.invert,
        before=args.context_before,
        after=args.context_after,
        limit=args.head_limit,
        offset=args.offset,
        max_file_bytes=_MAX_FILE_BYTES,
    )


def _content(args: GrepArgs, result: GrepResult) -> ToolResult:
    lines, cut = _fitting(result.lines, args.max_columns)
    matches = [
        {"path": line.path, "line": line.line_number, "text": line.text, "match": line.is_match}
        for line in lines
    ]
    data = {**_summary(result), "truncated": result.truncated or cut, "matches": matches}
    shown = [_rendered(line) for line in _with_gaps(lines)]
    text = "\n".join([*shown, *_notes(args, result, sum(line.is_match for line in lines), cut=cut)])
    return ToolResult.ok(data, text=text, raw_result=RawResult("text", text))


def _files(args: GrepArgs, result: GrepResult) -> ToolResult:
    counted = args.output_mode == "count"
    # Without counting, the search of a file stops at its first match.
    files: list[dict[str, Any]] = [
        {"path": path, "count": count} if counted else {"path": path}
        for path, count in result.counts
    ]
    data = {**_summary(result), "truncated": result.truncated, "files": files}
    shown = [f"{path}:{count}" if counted else path for path, count in result.counts]
    text = "\n".join([*shown, *_notes(args, result, len(files), cut=False)])
    return ToolResult.ok(data, text=text, raw_result=RawResult("table", files))


def _summary(result: GrepResult) -> dict[str, Any]:
    return {
        "total": result.total,
        "files_searched": result.files_searched,
        "files_skipped": result.files_skipped,
    }


def _fitting(lines: tuple[GrepLine, ...], columns: int) -> tuple[list[GrepLine], bool]:
    """Return the lines that fit, each shortened to its limit, and whether some did not fit."""
    kept: list[GrepLine] = []
    room = _MAX_CHARS
    for line in lines:
        text = line.text
        if len(text) > columns:
            text = f"{text[:columns]}… ({len(text)} characters)"
        room -= len(line.path) + len(text) + 12
        if room < 0:
            return kept, True
        kept.append(GrepLine(line.path, line.line_number, text, line.is_match))
    return kept, False


def _with_gaps(lines: list[GrepLine]) -> list[GrepLine | None]:
    """Insert None between non-adjacent lines if context is shown."""
    if all(line.is_match for line in lines):
        return list(lines)
    spaced: list[GrepLine | None] = []
    runs = groupby(enumerate(lines), key=lambda item: (item[1].path, item[1].line_number - item[0]))
    for _, run in runs:
        if spaced:
            spaced.append(None)
        spaced.extend(line for _, line in run)
    return spaced


def _rendered(line: GrepLine | None) -> str:
    if line is None:
        return "--"
    mark = ":" if line.is_match else "-"
    return f"{line.path}{mark}{line.line_number}{mark}{line.text}"


def _notes(args: GrepArgs, result: GrepResult, shown: int, *, cut: bool) -> list[str]:
    notes: list[str] = []
    if not shown:
        notes.append(f"No matches in {result.files_searched} files")
    elif result.truncated or cut:
        notes.append(f"[More follows: continue with offset={args.offset + shown}]")
    if result.files_skipped:
        notes.append(f"[{result.files_skipped} binary or large files skipped]")
    return notes
