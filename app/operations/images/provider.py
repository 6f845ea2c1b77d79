"""Protocol of image providers, with order and result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from app.operations.protocols.operations import Operations

IMAGE_PROVIDER = "images.provider"
"""Service of the `ImageProvider`, named after its setting."""
MAX_IMAGE_BYTES = 20 << 20


@dataclass(frozen=True, slots=True)
class ImageOrder:
    """Order of images.

    Attributes:
        width, height: requested pixels; a provider uses its nearest size.
        count: number of images.
        images: input image files; empty to generate from text alone.
        strength: deviation from them, 0 to 1; None for the provider's default.
    """

    prompt: str
    width: int
    height: int
    count: int = 1
    images: tuple[bytes, ...] = ()
    strength: float | None = None


@runtime_checkable
class ImageProvider(Protocol):
    """Provider of images.

    Attributes:
        name, model: names for the record.
        simulated: placeholder images, for use without a provider.
        max_count: maximum images per order.
        timeout_s: maximum seconds per order.
    """

    name: str
    model: str
    simulated: bool
    max_count: int
    timeout_s: float

    async def make(self, order: ImageOrder, operations: Operations) -> list[bytes]:
        """Return image files, not yet validated.

        Args:
            operations: operations for providers that run a program.

        Raises:
            ToolFailed: `content_refused`, `rate_limited`, `quota_exceeded`, `provider_refused`,
                `provider_failed`, `timeout`.
        """


def nearest_size(width: int, height: int, sizes: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the entry of `sizes` with the nearest aspect ratio, and among those the nearest
    area.
    """
    ratio, area = width / height, width * height

    def distance(size: tuple[int, int]) -> tuple[float, float]:
        its_ratio, its_area = size[0] / size[1], size[0] * size[1]
        shape = max(ratio, its_ratio) / min(ratio, its_ratio)
        return round(shape, 3), max(area, its_area) / min(area, its_area)

    return min(sizes, key=distance)
