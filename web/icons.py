"""Draws the icons that are no SVG: for home screens, and `favicon.ico`; only the standard library.

The shapes are those of `public/icon.svg`, in its units: a square of 32 with round corners.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

GROUND, STROKE = (0x0B, 0x5D, 0x6B), (0xFF, 0xFF, 0xFF)
SIDE, RADIUS, HALF_WIDTH = 32.0, 8.0, 1.3
LINES = (((8, 23), (8, 12)), ((24, 23), (24, 12)), ((6, 12), (26, 12)), ((8, 17), (24, 14)))
SIZES = (192, 512)
FAVICON_SIZE = 32
# A home screen cuts a maskable icon into its own shape, which keeps this part of the middle.
SAFE = 0.8


def draw_all(folder: Path) -> None:
    """Write every icon that the manifest and old browsers ask for."""
    for size in SIZES:
        maskable = size == max(SIZES)
        (folder / f"icon-{size}.png").write_bytes(png(size, maskable=maskable))
    image = png(FAVICON_SIZE)
    side = FAVICON_SIZE
    entry = struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(image), 6 + 16)
    (folder / "favicon.ico").write_bytes(struct.pack("<HHH", 0, 1, 1) + entry + image)


def png(size: int, *, maskable: bool = False) -> bytes:
    """Draw the icon as PNG with transparency.

    Args:
        maskable: fill the whole square, with the drawing in its safe middle.
    """
    unit = SIDE / size
    rows = (
        b"\0" + b"".join(_pixel((x + 0.5) * unit, y, unit, maskable=maskable) for x in range(size))
        for y in ((row + 0.5) * unit for row in range(size))
    )
    header = struct.pack(">IIBBBBB", size, size, 8, 6, 0, 0, 0)
    data = zlib.compress(b"".join(rows), 9)
    parts = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in parts)


def _pixel(x: float, y: float, unit: float, *, maskable: bool) -> bytes:
    middle = SIDE / 2
    shown = 1.0 if maskable else _covered(_outside(x - middle, y - middle), unit)
    if maskable:
        x, y, unit = (*((value - middle) / SAFE + middle for value in (x, y)), unit / SAFE)
    stroke = _covered(min(_distance(x, y, line) for line in LINES) - HALF_WIDTH, unit)
    mixed = (
        round(ground + (line - ground) * stroke)
        for ground, line in zip(GROUND, STROKE, strict=True)
    )
    return bytes((*mixed, round(255 * shown)))


def _covered(distance: float, unit: float) -> float:
    """How much of a pixel a shape covers whose edge is at this distance; negative is inside."""
    return min(1.0, max(0.0, 0.5 - distance / unit))


def _outside(x: float, y: float) -> float:
    """Distance to the square with round corners, from its middle."""
    dx, dy = (abs(value) - SIDE / 2 + RADIUS for value in (x, y))
    return math.hypot(max(dx, 0.0), max(dy, 0.0)) + min(max(dx, dy), 0.0) - RADIUS


def _distance(x: float, y: float, line: Sequence[Sequence[float]]) -> float:
    """Distance to a line between two points."""
    (ax, ay), (bx, by) = line
    dx, dy = bx - ax, by - ay
    along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)
    along = min(1.0, max(0.0, along))
    return math.hypot(x - ax - along * dx, y - ay - along * dy)


def _chunk(name: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + check
