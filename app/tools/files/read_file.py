"""`read_file`: returns the text of one or several files, including images and PDF documents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.core.file_signatures import image_type
from app.operations.protocols.code import ProducedFile
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS, Artifacts
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import Encoding, PathText
from app.tools.code.artifacts import keep_files, shown
from app.tools.files.document import open_document
from app.tools.files.excerpt import MAX_CHARS, LineRange, cut_out
from app.tools.files.image_size import image_size
from app.tools.files.pdf import MAX_PAGES, MAX_PDF_BYTES, read_pages
from app.tools.files.returns import READ_FILE_RESULT
from app.tools.files.text import MAX_FILE_BYTES
from app.tools.images import shown_images

MAX_LINES = 100_000
_INLINE_BYTES = 1 << 18
_PDF = b"%PDF-"

ARTIFACT_PATH = "artifact:"
MAX_IMAGE_BYTES = 20 << 20
MAX_ARTIFACT_BYTES = 64 << 20
_LARGER = {
    ".pdf": MAX_PDF_BYTES,
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp"), MAX_IMAGE_BYTES),
}


class ReadFileArgs(ToolArgs):
    path: PathText | None = Field(default=None, description="File to read.")
    paths: Annotated[list[PathText], Field(min_length=1, max_length=20)] | None = Field(
        default=None, description="Several files instead of path."
    )
    encoding: Encoding | None = Field(
        default=None,
        description="Such as utf-8, gbk, utf-16, latin-1; default: detected from the file.",
    )
    start_line: int | None = Field(default=None, ge=1, description="First line, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, inclusive.")
    limit: int = Field(default=2000, ge=1, le=MAX_LINES, description="Maximum lines per file.")
    show_line_numbers: bool = Field(default=True, description="Show line numbers.")
    pages: str | None = Field(
        default=None,
        pattern=r"^[1-9]\d{0,5}(-[1-9]\d{0,5})?$",
        description=f"Pages of a PDF such as 3 or 1-5, {MAX_PAGES} at most.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> ReadFileArgs:
        if (self.path is None) == (self.paths is None):
            raise FieldError("set either path or paths", code="one_of", needed="path, paths")
        if self.paths is not None and (self.start_line or self.end_line):
            raise FieldError(
                "start_line and end_line require path, not paths",
                code="not_with",
                given="start_line, end_line",
                needed="paths",
            )
        if self.start_line and self.end_line and self.end_line < self.start_line:
            raise FieldError(
                "end_line must not be before start_line",
                code="wrong_order",
                given="end_line",
                needed="start_line",
            )
        if self.page_range:
            first, last = self.page_range
            if last < first or last - first >= MAX_PAGES:
                raise FieldError(
                    f"pages must list 1 to {MAX_PAGES} pages in order, such as 1-5",
                    code="bad_pages",
                    le=MAX_PAGES,
                )
        return self

    @property
    def page_range(self) -> tuple[int, int] | None:
        """Return the first and last page, from 1."""
        if self.pages is None:
            return None
        first, _, last = self.pages.partition("-")
        return int(first), int(last or first)


@dataclass(frozen=True, slots=True)
class Content:
    """Content of one file: for programs, for the model, and as an image for renderers."""

    data: dict[str, Any]
    text: str
    image: RawResult | None = None


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
    # Artifacts are readable without a project; for files `ctx.operations` checks it.
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
    return_schema=READ_FILE_RESULT,
)
async def read_file(args: ReadFileArgs, ctx: ToolContext) -> ToolResult:
    """Read files of the workspace; prefer it over cat, head or sed in bash.

    Returns numbered lines under a header with the line count, text of PDF pages, or an image's
    size. Long files are returned in parts: continue with start_line. Use paths for several files.
    The path artifact:<id> continues a truncated tool output.
    """
    if args.path is not None:
        content = await _content(args, args.path, MAX_CHARS, ctx)
        raw = content.image or RawResult("text", content.text)
        return ToolResult.ok(content.data, text=content.text, raw_result=raw)
    return await _read_many(args, args.paths or [], ctx)


async def _read_many(args: ReadFileArgs, paths: list[str], ctx: ToolContext) -> ToolResult:
    parts: list[str] = []
    files: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = []
    failed = 0
    for path in paths:
        try:
            content = await _content(args, path, MAX_CHARS // len(paths), ctx)
        except ToolFailed as error:
            failed += 1
            code = error.details.get("code", error.code)
            files.append({"path": path, "error": error.message, "code": code})
            parts.append(f"[File: {path} | Error: {error.message}]")
        else:
            files.append(content.data)
            parts.append(content.text)
            images += content.image.data["images"] if content.image else []
    summary = f"Read {len(paths) - failed} of {len(paths)} files"
    data = {"files": files, "read": len(paths) - failed, "failed": failed}
    text = "\n\n".join([*parts, f"[{summary}]"])
    if failed == len(paths):
        return ToolResult.fail("None of the files could be read", data=data, text=text)
    only_images = len(images) == len(paths)
    raw = shown_images(images) if only_images else RawResult("text", text)
    return ToolResult.ok(data, text=text, raw_result=raw)


async def _content(args: ReadFileArgs, path: str, room: int, ctx: ToolContext) -> Content:
    """Return one file, by its type of content.

    A given text encoding determines the type: then only content that cannot be text is detected.
    """
    data = await read_bytes(path, ctx)
    kind = image_type(data)
    if kind is not None and len(data) <= MAX_IMAGE_BYTES:
        return await _image(path, data, kind, ctx)
    if data.startswith(_PDF):
        return await _pdf(args, path, data, room, ctx)
    if len(data) > MAX_FILE_BYTES and not path.startswith(ARTIFACT_PATH):
        raise too_large(path, MAX_FILE_BYTES)
    if args.pages is not None:
        raise ToolFailed(
            f"pages requires a PDF document, but {path!r} is not one; use start_line",
            code="not_a_pdf",
            path=path,
        )
    if len(data) <= _INLINE_BYTES:
        return _text(args, path, data, room)
    return await asyncio.to_thread(_text, args, path, data, room)


def _text(args: ReadFileArgs, path: str, data: bytes, room: int) -> Content:
    document = open_document(data, args.encoding, path)
    wanted = LineRange(args.start_line, args.end_line, args.limit, room, args.show_line_numbers)
    excerpt = cut_out(path, document.shown(), document.encoding, wanted, document.strays)
    return Content(excerpt.to_data(), excerpt.to_text(numbered=args.show_line_numbers))


async def _pdf(args: ReadFileArgs, path: str, data: bytes, room: int, ctx: ToolContext) -> Content:
    if args.start_line or args.end_line:
        raise ToolFailed(
            f"{path!r} is a PDF document: use pages, such as '1-5', not lines",
            code="pages_needed",
            path=path,
        )
    pages = await read_pages(path, data, args.page_range, room, ctx)
    return Content(pages.to_data(), pages.to_text())


async def _image(path: str, data: bytes, kind: str, ctx: ToolContext) -> Content:
    """Return an image, stored for the session so that a client can show it."""
    if path.startswith(ARTIFACT_PATH):
        fields: dict[str, Any] = {
            "name": path,
            "media_type": kind,
            "size": len(data),
            "artifact_id": path.removeprefix(ARTIFACT_PATH),
        }
        image: RawResult | None = shown_images([fields])
    else:
        (kept,) = files = await keep_files([ProducedFile(path, data)], ctx)
        fields, image = kept.to_dict(), shown(files)
    size = image_size(data, kind)
    pixels = f"{size[0]} x {size[1]} pixels" if size else "size unknown: its header is damaged"
    fields |= {"path": path, "width": size and size[0], "height": size and size[1]}
    text = f"[Image: {path} | {kind} | {pixels} | {len(data)} bytes]\nIt contains no text to read."
    return Content(fields, text, image)


async def read_bytes(path: str, ctx: ToolContext) -> bytes:
    """Return the bytes of a file in the workspace, or of an artifact of this session.

    Raises:
        ToolFailed: `file_too_large`, or what the operations and the artifacts say.
    """
    if path.startswith(ARTIFACT_PATH):
        store = ctx.services.get(ARTIFACTS)
        if not isinstance(store, Artifacts):
            raise ToolFailed("artifacts not available", service=ARTIFACTS)
        return await store.load(
            path.removeprefix(ARTIFACT_PATH),
            session_id=ctx.session_id or "",
            max_bytes=MAX_ARTIFACT_BYTES,
        )
    suffix = f".{path.lower().rpartition('.')[2]}"
    most = _LARGER.get(suffix, MAX_FILE_BYTES)
    try:
        return await ctx.operations.files.read(path, max_bytes=most)
    except ToolFailed as error:
        if error.details.get("code") != "file_too_large":
            raise
        raise too_large(path, most) from None


def too_large(path: str, most: int) -> ToolFailed:
    return ToolFailed(
        f"{path!r} is larger than {most} bytes; use grep, or sed -n in bash",
        code="file_too_large",
        path=path,
        limit=most,
    )
