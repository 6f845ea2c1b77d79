"""Width and height of an image from its header, without decoding."""

from __future__ import annotations

import struct

Size = tuple[int, int]
_MAX_SEGMENTS = 1000
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def image_size(data: bytes, media_type: str) -> Size | None:
    """Return pixels as `(width, height)`; None if the header is damaged or unsupported."""
    measure = {
        "image/png": _png,
        "image/gif": _gif,
        "image/jpeg": _jpeg,
        "image/webp": _webp,
    }.get(media_type)
    try:
        return measure(data) if measure else None
    except (struct.error, IndexError):
        return None


def _png(data: bytes) -> Size | None:
    if data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> Size:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> Size | None:
    """Return the size in the first frame header, skipping earlier segments."""
    position = 2
    for _ in range(_MAX_SEGMENTS):
        while data[position] == 0xFF and data[position + 1] == 0xFF:
            position += 1  # padding
        if data[position] != 0xFF:
            return None
        marker = data[position + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        (length,) = struct.unpack_from(">H", data, position + 2)
        position += 2 + length
    return None


def _webp(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little")
        height = int.from_bytes(data[27:30], "little")
        return (width + 1, height + 1) if len(data) >= 30 else None
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None
