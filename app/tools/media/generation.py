"""Image generation: from the request to stored images with their usage."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.core.errors import ToolFailed
from app.core.file_signatures import image_type
from app.operations.images.provider import (
    IMAGE_PROVIDER,
    MAX_IMAGE_BYTES,
    ImageOrder,
    ImageProvider,
)
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS, Artifacts
from app.toolkit.result import ToolResult
from app.tools.files.image_size import image_size
from app.tools.images import shown_images
from app.tools.media.attachments import attach
from app.tools.media.image_work import thumbnail

AspectRatio = Literal[
    "square", "landscape", "portrait", "1:1", "3:2", "2:3", "4:3", "3:4", "16:9", "9:16"
]
ImageSize = Literal["small", "medium", "large"]

MAX_COUNT = 8
_MAX_PIXELS = 64_000_000
_THUMBNAIL_PX = 256
_SIDES = {"small": 512, "medium": 1024, "large": 1536}
_SHAPES = {"square": "1:1", "landscape": "3:2", "portrait": "2:3"}
_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}
_ARTIFACT = re.compile(r"art_[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class _StoredImage:
    """Stored image, as described in the result."""

    shown: dict[str, Any]
    data: dict[str, Any]


def paths_among(arguments: Mapping[str, Any]) -> list[str]:
    """Return the images of a call that are files of the workspace, for rules on paths."""
    sources = [arguments.get("image"), *(arguments.get("reference_images") or ())]
    return [source for source in sources if source and not _ARTIFACT.fullmatch(source)]


def pixels(aspect: AspectRatio, size: ImageSize) -> tuple[int, int]:
    """Return width and height: the longer side is the size's, both are multiples of eight."""
    across, _, down = _SHAPES.get(aspect, aspect).partition(":")
    ratio, side = int(across) / int(down), _SIDES[size]
    width, height = (side, side / ratio) if ratio >= 1 else (side * ratio, side)
    return round(width / 8) * 8, round(height / 8) * 8


def provider_of(ctx: ToolContext, count: int) -> ImageProvider:
    """Return the image provider.

    Raises:
        ToolFailed: `too_many_images`, or there is no provider.
    """
    provider = ctx.services.require(IMAGE_PROVIDER, ImageProvider)  # type: ignore[type-abstract]
    if count > provider.max_count:
        raise ToolFailed(
            f"count {count} exceeds the maximum of {provider.max_count} images per call",
            code="too_many_images",
        )
    return provider


async def load_image(source: str, ctx: ToolContext) -> bytes:
    """Load an image by its path in the workspace or the ID of an artifact of this session.

    Raises:
        ToolFailed: it does not exist, is too large, or is not a readable image.
    """
    if _ARTIFACT.fullmatch(source):
        store = ctx.services.require(ARTIFACTS, Artifacts)  # type: ignore[type-abstract]
        if ctx.session_id is None:
            raise ToolFailed(
                "Artifacts require a session, but this call has none", code="no_session"
            )
        data = await store.load(source, session_id=ctx.session_id, max_bytes=MAX_IMAGE_BYTES)
    else:
        data = await ctx.operations.files.read(source, max_bytes=MAX_IMAGE_BYTES)
    _measured(data, source)
    return data


async def make(
    order: ImageOrder, provider: ImageProvider, ctx: ToolContext, *, output_path: str | None
) -> ToolResult:
    """Generate images, store each with a thumbnail, and show them.

    Raises:
        ToolFailed: see `ImageProvider.make`; or the response is not an image.
    """
    await ctx.progress("ordering", f"{order.count} from {provider.name}")
    files = await provider.make(order, ctx.operations)
    kept = []
    for number, data in enumerate(files, start=1):
        await ctx.progress("keeping", current=number, total=len(files), unit="images")
        kept.append(await _keep(data, number, order, provider, ctx))
    paths = await _written(files, output_path, ctx)
    fields = {
        "images": [item.data for item in kept],
        "provider": provider.name,
        "model": provider.model,
        "simulated": provider.simulated,
    }
    if paths:
        fields["paths"] = paths
    text = _text(kept, paths, provider)
    return ToolResult.ok(fields, text=text, raw_result=shown_images([item.shown for item in kept]))


async def _keep(
    data: bytes, number: int, order: ImageOrder, provider: ImageProvider, ctx: ToolContext
) -> _StoredImage:
    media_type, width, height = _measured(data, f"image {number} of the provider")
    small = await thumbnail(data, _THUMBNAIL_PX, ctx.operations)
    stem = f"image-{ctx.operation_id}-{number}"
    shown = await attach(f"{stem}{_SUFFIXES[media_type]}", media_type, data, ctx)
    preview = await attach(f"{stem}-small.png", "image/png", small.data, ctx)
    shown |= {"width": width, "height": height, "thumbnail_id": preview["artifact_id"]}
    provenance = {
        "provider": provider.name,
        "model": provider.model,
        "simulated": provider.simulated,
        "prompt_sha256": hashlib.sha256(order.prompt.encode()).hexdigest(),
        "made_from_sha256": [hashlib.sha256(image).hexdigest() for image in order.images],
    }
    digest = hashlib.sha256(data).hexdigest()
    return _StoredImage(shown, {**shown, "sha256": digest, "provenance": provenance})


def _measured(data: bytes, what: str) -> tuple[str, int, int]:
    """Return media type and pixels, from the header alone."""
    media_type = image_type(data)
    size = image_size(data, media_type) if media_type else None
    if media_type is None or size is None:
        raise ToolFailed(f"{what} is not a PNG, JPEG, GIF or WebP image", code="unreadable_image")
    if not 0 < size[0] * size[1] <= _MAX_PIXELS or len(data) > MAX_IMAGE_BYTES:
        raise ToolFailed(
            f"{what} is too large: {size[0]}x{size[1]} pixels, {len(data)} bytes",
            code="image_too_large",
        )
    return media_type, *size


async def _written(files: Sequence[bytes], output_path: str | None, ctx: ToolContext) -> list[str]:
    """Write the images to the workspace too, if requested."""
    if output_path is None:
        return []
    written = []
    for number, data in enumerate(files, start=1):
        suffix = _SUFFIXES[image_type(data) or "image/png"]
        stem = output_path.removesuffix(suffix)
        path = f"{stem}{suffix}" if len(files) == 1 else f"{stem}-{number}{suffix}"
        written.append((await ctx.operations.files.write(path, data)).path)
    return written


def _text(kept: Sequence[_StoredImage], paths: Sequence[str], provider: ImageProvider) -> str:
    simulated = " (simulated: not generated by a model)" if provider.simulated else ""
    what = "1 image" if len(kept) == 1 else f"{len(kept)} images"
    lines = [f"{what} by {provider.name}{simulated}, shown in the chat"]
    lines += [
        f"{item.data['artifact_id']}: {item.data['width']}x{item.data['height']}" for item in kept
    ]
    lines += [f"Written to {path}" for path in paths]
    return "\n".join(lines)
