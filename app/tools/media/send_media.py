"""`send_media`: shows files of the workspace in the chat."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from app.core.errors import ToolFailed
from app.core.file_signatures import image_type
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.images import shown_images
from app.tools.media.attachments import attach
from app.tools.media.returns import SEND_MEDIA_RESULT

_MAX_BYTES = 20 << 20
_IMAGES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
# No types that a browser would execute: no SVG, no HTML.
_OTHERS = {
    "bmp": "image/bmp",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "flac": "audio/flac",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mov": "video/quicktime",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "json": "application/json",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "zip": "application/zip",
    "tar": "application/x-tar",
    "gz": "application/gzip",
    "7z": "application/x-7z-compressed",
}


class SendMediaArgs(ToolArgs):
    file_paths: Annotated[list[PathText], Field(min_length=1, max_length=20)] = Field(
        description="Files of the workspace, each at most 20 MB."
    )
    message: str = Field(default="", max_length=4000, description="Text to send with them.")


@tool(
    category="media",
    toolset="media",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="other",
    needs_project=True,
    routing_hint="main-process-proxy",
    tags=("media", "chat"),
    argument_aliases={"paths": "file_paths", "files": "file_paths", "caption": "message"},
    return_schema=SEND_MEDIA_RESULT,
)
async def send_media(args: SendMediaArgs, ctx: ToolContext) -> ToolResult:
    """Show images, audio, video, documents or archives of the workspace in the chat.

    Returns which files were sent, and why others were not.
    """
    sent: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    for path in args.file_paths:
        try:
            sent.append({"path": path, **await _send(path, ctx)})
        except ToolFailed as error:
            failed.append({"path": path, "error": error.message})
    data = {"message": args.message, "sent": sent, "failed": failed}
    lines = [f"Sent {file['path']} ({file['size']} bytes)" for file in sent]
    lines += [f"Not sent: {file['path']}: {file['error']}" for file in failed]
    text = "\n".join(lines)
    if not sent:
        return ToolResult.fail("None of the files could be sent", data=data, text=text)
    return ToolResult.ok(data, text=text, raw_result=_shown(args.message, sent))


async def _send(path: str, ctx: ToolContext) -> dict[str, Any]:
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower()
    media_type = _IMAGES.get(suffix) or _OTHERS.get(suffix)
    if media_type is None:
        raise ToolFailed(
            f"files of type {suffix!r} are not supported; supported are "
            f"{', '.join([*_IMAGES, *_OTHERS])}",
            code="unsupported_media",
        )
    data = await ctx.operations.files.read(path, max_bytes=_MAX_BYTES)
    if suffix in _IMAGES and image_type(data) is None:
        raise ToolFailed(f"it is named {suffix} but is not an image", code="unsupported_media")
    # The first bytes of an image are more reliable than its name.
    return await attach(name, image_type(data) or media_type, data, ctx)


def _shown(message: str, sent: list[dict[str, Any]]) -> RawResult:
    """Return images as images; anything else as a list of links."""
    if not message and all(file["media_type"] in _IMAGES.values() for file in sent):
        return shown_images(sent)
    return RawResult("json", {"message": message, "attachments": sent})
