"""`screenshot`: takes a picture of a web page or of the desktop."""

from __future__ import annotations

import re
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.core.file_signatures import image_type
from app.operations.screens.pictures import PageRequest, Picture, ScreenCapture
from app.toolkit.context import ToolContext
from app.toolkit.ports import SCREEN_CAPTURE
from app.toolkit.result import ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.images import shown_images
from app.tools.media.attachments import attach
from app.tools.media.returns import SCREENSHOT_RESULT

_PNG = "image/png"
_FOLDER = "screenshots"
_MAX_BYTES = 20 << 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class ScreenshotArgs(ToolArgs):
    mode: Literal["webpage", "desktop"] = Field(default="webpage", description="What to capture.")
    url: str | None = Field(
        default=None, min_length=1, max_length=8000, description="Address of the page."
    )
    output_path: PathText | None = Field(
        default=None, description="PNG file to write; default: a new file in screenshots/."
    )
    monitor: int = Field(
        default=0, ge=0, le=64, description="desktop: number of the monitor; 0 for all."
    )
    full_page: bool = Field(
        default=False, description="Capture the full page, not only the visible part."
    )
    viewport_width: int = Field(default=1280, ge=320, le=3840, description="Pixels.")
    viewport_height: int = Field(default=720, ge=240, le=2160, description="Pixels.")
    wait_time: int = Field(
        default=1000, ge=0, le=30_000, description="Milliseconds to wait after loading."
    )
    timeout: int = Field(
        default=30_000, ge=5000, le=120_000, description="Maximum milliseconds for loading."
    )

    @model_validator(mode="after")
    def _complete(self) -> ScreenshotArgs:
        if self.mode == "webpage" and self.url is None:
            raise FieldError(
                "mode webpage requires url", code="needs", given="webpage", needed="url"
            )
        if self.mode == "desktop" and self.url is not None:
            raise FieldError(
                "url requires mode webpage", code="only_with", given="url", needed="webpage"
            )
        if self.output_path is not None and not self.output_path.lower().endswith(".png"):
            raise FieldError("output_path must end in .png", code="png_only")
        return self


@tool(
    category="media",
    toolset="media",
    sandbox="bash",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    kind="fetch",
    needs_project=True,
    requires=(SCREEN_CAPTURE,),
    routing_hint="main-process-proxy",
    timeout_s=200,
    tags=("media", "image", "web"),
    return_schema=SCREENSHOT_RESULT,
)
async def screenshot(args: ScreenshotArgs, ctx: ToolContext) -> ToolResult:
    """Take a screenshot of a web page, or of this machine's desktop.

    Only pages on the public Internet are allowed. The PNG is written to the workspace and shown in
    the chat. Returns its path and size, and the resources that were blocked.
    """
    screens = ctx.services.require(SCREEN_CAPTURE, ScreenCapture)  # type: ignore[type-abstract]
    if args.mode == "desktop":
        picture = await screens.desktop(args.monitor)
    else:
        picture = await screens.page(ctx.operations, _request(args))
    if image_type(picture.data) != _PNG or len(picture.data) > _MAX_BYTES:
        raise ToolFailed("No screenshot of a usable size was received", code="browser_failed")
    path = args.output_path or f"{_FOLDER}/{_name(args, ctx)}.png"
    edited = await ctx.operations.files.write(path, picture.data)
    shown = await attach(edited.path.rpartition("/")[2], _PNG, picture.data, ctx)
    data = _data(args, picture, edited.path, shown)
    return ToolResult.ok(data, text=_text(data), raw_result=shown_images([shown]))


def _request(args: ScreenshotArgs) -> PageRequest:
    assert args.url is not None
    return PageRequest(
        url=args.url,
        width=args.viewport_width,
        height=args.viewport_height,
        full_page=args.full_page,
        wait_s=args.wait_time / 1000,
        timeout_s=args.timeout / 1000,
    )


def _name(args: ScreenshotArgs, ctx: ToolContext) -> str:
    about = (urlsplit(args.url).hostname or "page") if args.url is not None else "desktop"
    return _UNSAFE.sub("-", f"{about[:80]}-{ctx.operation_id[:80]}").strip("-.")


def _data(
    args: ScreenshotArgs, picture: Picture, path: str, shown: dict[str, Any]
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "mode": args.mode,
        "path": path,
        "width": picture.width,
        "height": picture.height,
        "size": len(picture.data),
        "artifact_id": shown["artifact_id"],
    }
    if args.mode == "webpage":
        data |= {"url": picture.url, "title": picture.title, "refused": list(picture.refused)}
    if picture.sandbox is not None:
        data["sandbox"] = picture.sandbox.to_dict()
    return data


def _text(data: dict[str, Any]) -> str:
    lines = [f"Saved {data['path']} ({data['width']} x {data['height']} pixels)"]
    if data["mode"] == "webpage":
        lines.append(f"Page: {data['title'] or '(no title)'} at {data['url']}")
        lines += [f"Not loaded: {refused}" for refused in data["refused"]]
    return "\n".join(lines)
