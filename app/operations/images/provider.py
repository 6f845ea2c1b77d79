"""What is ordered of a maker of images, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from app.operations.protocols.operations import Operations

MAX_IMAGE_BYTES = 20 << 20


@dataclass(frozen=True, slots=True)
class ImageOrder:
    """One order.

    Attributes:
        width, height: wanted pixels; a maker takes what it has next to them.
        count: how many images.
        images: what to begin with, as files of images; none for an image out of words.
        strength: how far to go from them, 0 to 1; None leaves it to the maker.
    """

    prompt: str
    width: int
    height: int
    count: int = 1
    images: tuple[bytes, ...] = ()
    strength: float | None = None


@runtime_checkable
class ImageProvider(Protocol):
    """Makes images.

    Attributes:
        name, model: who made them, for the record.
        simulated: nothing was imagined: a stand-in for work without a provider.
        max_count: images of one order.
        timeout_s: seconds an order may take.
    """

    name: str
    model: str
    simulated: bool
    max_count: int
    timeout_s: float

    async def make(self, order: ImageOrder, operations: Operations) -> list[bytes]:
        """Files of images, not looked into yet.

        Args:
            operations: where a maker that runs a program runs it.

        Raises:
            ToolFailed: `content_refused`, `rate_limited`, `quota_exceeded`, `provider_refused`,
                `provider_failed`, `timeout`.
        """


def nearest_size(width: int, height: int, sizes: list[tuple[int, int]]) -> tuple[int, int]:
    """Of `sizes` the one whose shape is nearest, and of those the one whose area is."""
    ratio, area = width / height, width * height

    def distance(size: tuple[int, int]) -> tuple[float, float]:
        its_ratio, its_area = size[0] / size[1], size[0] * size[1]
        shape = max(ratio, its_ratio) / min(ratio, its_ratio)
        return round(shape, 3), max(area, its_area) / min(area, its_area)

    return min(sizes, key=distance)
