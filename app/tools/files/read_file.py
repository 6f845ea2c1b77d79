"""`read_file`: text of one file, or of several."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS, Artifacts
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import Encoding, PathText
from app.tools.files.text import MAX_FILE_BYTES, count_lines, decode, line_start, split_lines

MAX_CHARS = 128_000
MAX_LINES = 100_000
MAX_ARTIFACT_BYTES = 64 << 20
_ARTIFACT = "artifact:"
_INLINE_BYTES = 1 << 18
_NUMBER_WIDTH = 6


class ReadFileArgs(ToolArgs):
    path: PathText | None = Field(default=None, description="File to read.")
    paths: Annotated[list[PathText], Field(min_length=1, max_length=20)] | None = Field(
        default=None, description="Several files, instead of path."
    )
    encoding: Encoding = Field(default="utf-8", description="Such as utf-8, gbk, utf-16, latin-1.")
    start_line: int | None = Field(default=None, ge=1, description="First line, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, inclusive.")
    limit: int = Field(default=2000, ge=1, le=MAX_LINES, description="Most lines per file.")
    show_line_numbers: bool = Field(default=True, description="Number the lines.")

    @model_validator(mode="after")
    def _one_way(self) -> ReadFileArgs:
        if (self.path is None) == (self.paths is None):
            raise ValueError("give either path or paths")
        if self.paths is not None and (self.start_line or self.end_line):
            raise ValueError("start_line and end_line go with path, not with paths")
        if self.start_line and self.end_line and self.end_line < self.start_line:
            raise ValueError("end_line must not be before start_line")
        return self


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines `start` to `end` of a file of `total`; `cut` when the last one is not whole."""

    path: str
    lines: list[str]
    start: int
    total: int
    size: int
    wanted_end: int
    cut: bool

    @property
    def end(self) -> int:
        return self.start + len(self.lines) - 1 if self.lines else 0

    @property
    def truncated(self) -> bool:
        return self.cut or self.end < self.wanted_end

    def to_data(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "content": "".join(self.lines),
            "size": self.size,
            "total_lines": self.total,
            "start_line": self.start if self.lines else 0,
            "end_line": self.end,
            "truncated": self.truncated,
        }

    def to_text(self, *, numbered: bool) -> str:
        shown = f"{self.start if self.lines else 0}-{self.end}"
        parts = [f"[File: {self.path} | Lines: {self.total} | Showing: {shown}]"]
        for number, line in enumerate(self.lines, self.start):
            plain = line.rstrip("\r\n")
            parts.append(f"{number:>4}| {plain}" if numbered else plain)
        if not self.total:
            parts.append("(empty file)")
        elif self.cut:
            parts.append(f"[Line {self.end} is cut: {MAX_CHARS} characters are the most]")
        elif self.truncated:
            parts.append(f"[More follows: go on with start_line={self.end + 1}]")
        return "\n".join(parts)


def _as_file_read(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"limit": MAX_LINES, "show_line_numbers": False, **arguments}


def _file_read_shape(result: ToolResult) -> ToolResult:
    if not result.success or "content" not in result.data:
        return result
    kept = {key: result.data[key] for key in ("content", "size", "path")}
    shape: dict[str, Any] = {"success": True, **kept}
    if result.data["truncated"]:
        shape["truncated"] = True
    return ToolResult.ok(shape, raw_result=result.raw_result)


@tool(
    category="file",
    toolset="files",
    kind="read",
    cacheable=True,
    # Without a project artifacts can still be read; a file cannot, `ctx.operations` sees to it.
    needs_project=False,
    max_output_chars=MAX_CHARS + 8000,
    tags=("file", "read"),
    argument_aliases={
        "file_path": "path",
        "filename": "path",
        "file_paths": "paths",
        "files": "paths",
        "offset": "start_line",
    },
    aliases=(
        Alias(
            "file_read",
            adapt=_as_file_read,
            reshape=_file_read_shape,
            families=("nanoclaw",),
        ),
    ),
)
async def read_file(args: ReadFileArgs, ctx: ToolContext) -> ToolResult:
    """Read text files of the workspace; prefer it over cat, head or sed in bash.

    Returns numbered lines under a header with the line count. Long files come in parts:
    go on with start_line. Read several files at once with paths. The path artifact:<id>
    reads on in a tool's output that was cut off.
    """
    if args.path is not None:
        excerpt = await _excerpt(args, args.path, MAX_CHARS, ctx)
        text = excerpt.to_text(numbered=args.show_line_numbers)
        return ToolResult.ok(excerpt.to_data(), text=text, raw_result=RawResult("text", text))
    return await _read_many(args, args.paths or [], ctx)


async def _read_many(args: ReadFileArgs, paths: list[str], ctx: ToolContext) -> ToolResult:
    parts: list[str] = []
    files: list[dict[str, Any]] = []
    failed = 0
    for path in paths:
        try:
            excerpt = await _excerpt(args, path, MAX_CHARS // len(paths), ctx)
        except ToolFailed as error:
            failed += 1
            files.append({"path": path, "error": error.message})
            parts.append(f"[File: {path} | Error: {error.message}]")
        else:
            files.append(excerpt.to_data())
            parts.append(excerpt.to_text(numbered=args.show_line_numbers))
    summary = f"Read {len(paths) - failed} of {len(paths)} files"
    data = {"files": files, "read": len(paths) - failed, "failed": failed}
    text = "\n\n".join([*parts, f"[{summary}]"])
    if failed == len(paths):
        return ToolResult.fail("None of the files could be read", data=data, text=text)
    return ToolResult.ok(data, text=text, raw_result=RawResult("text", text))


async def _excerpt(args: ReadFileArgs, path: str, room: int, ctx: ToolContext) -> Excerpt:
    data = await _bytes(path, ctx)
    if len(data) <= _INLINE_BYTES:
        return _cut_out(args, path, data, room)
    return await asyncio.to_thread(_cut_out, args, path, data, room)


async def _bytes(path: str, ctx: ToolContext) -> bytes:
    """A file of the workspace, or what an earlier call of this session left behind."""
    if path.startswith(_ARTIFACT):
        store = ctx.services.get(ARTIFACTS)
        if not isinstance(store, Artifacts):
            raise ToolFailed("artifacts not available", service=ARTIFACTS)
        return await store.load(
            path.removeprefix(_ARTIFACT),
            session_id=ctx.session_id or "",
            max_bytes=MAX_ARTIFACT_BYTES,
        )
    try:
        return await ctx.operations.files.read(path, max_bytes=MAX_FILE_BYTES)
    except ToolFailed as error:
        if error.details.get("code") != "file_too_large":
            raise
        raise ToolFailed(
            f"{path!r} is larger than {MAX_FILE_BYTES} bytes; use grep, or sed -n in bash",
            **error.details,
        ) from None


def _cut_out(args: ReadFileArgs, path: str, data: bytes, room: int) -> Excerpt:
    text = decode(data, args.encoding, path).removeprefix("\ufeff")
    total = count_lines(text)
    start = args.start_line or 1
    if total and start > total:
        raise ToolFailed(
            f"start_line {start} is past the end: {path!r} has {total} lines",
            code="line_out_of_range",
            path=path,
            total_lines=total,
        )
    wanted_end = min(args.end_line or total, total)
    wanted = max(0, min(wanted_end - start + 1, args.limit))
    first = line_start(text, start - 1)
    lines = split_lines(text[first : line_start(text, wanted, first)])
    shown, cut = _within(lines, room, _NUMBER_WIDTH if args.show_line_numbers else 0)
    return Excerpt(path, shown, start, total, len(text), wanted_end, cut)


def _within(lines: list[str], room: int, extra: int) -> tuple[list[str], bool]:
    """As many whole lines as fit; of a first line that does not fit, its beginning."""
    for index, line in enumerate(lines):
        room -= len(line) + extra
        if room < 0:
            return (lines[:index], False) if index else ([line[:room]], True)
    return lines, False
