"""Images by their first bytes, and how a result shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.toolkit.result import RawResult

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(data: bytes) -> str | None:
    """The media type of an image that browsers show; None for everything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), None)


def shown_images(images: Sequence[dict[str, Any]]) -> RawResult:
    """Images for a renderer: each with `name`, `media_type`, `size`, `artifact_id`, `url`."""
    return RawResult("image", {"images": list(images)})
