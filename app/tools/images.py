"""Images in results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.toolkit.result import RawResult


def shown_images(images: Sequence[dict[str, Any]]) -> RawResult:
    """Return images for a renderer, each with `name`, `media_type`, `size`, `artifact_id`,
    `url`.
    """
    return RawResult("image", {"images": list(images)})
