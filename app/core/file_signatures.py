"""Detection of file types by their first bytes."""

from __future__ import annotations

from typing import NamedTuple


class FileSignature(NamedTuple):
    """File type with a known signature.

    Attributes:
        media_type: media type, as in `Content-Type`.
        label: name with an article, for messages; empty if a text could start the same way.
    """

    media_type: str
    label: str = ""


_WEBP = FileSignature("image/webp", "a WebP image")
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", FileSignature("image/png", "a PNG image")),
    (b"\xff\xd8\xff", FileSignature("image/jpeg", "a JPEG image")),
    (b"GIF87a", FileSignature("image/gif", "a GIF image")),
    (b"GIF89a", FileSignature("image/gif", "a GIF image")),
    (b"%PDF-", FileSignature("application/pdf", "a PDF document")),
    (b"PK\x03\x04", FileSignature("application/zip", "a ZIP archive or office document")),
    (b"\x1f\x8b", FileSignature("application/gzip", "a gzip archive")),
    (b"7z\xbc\xaf", FileSignature("application/x-7z-compressed", "a 7z archive")),
    (b"\x7fELF", FileSignature("application/x-executable", "a program")),
    (b"MZ\x90", FileSignature("application/x-executable", "a program")),
    (b"\x00asm", FileSignature("application/wasm", "a WebAssembly module")),
    (b"SQLite format 3\x00", FileSignature("application/vnd.sqlite3", "an SQLite database")),
    (b"OggS", FileSignature("application/ogg")),
    (b"RIFF", FileSignature("application/riff")),
    (b"wOF", FileSignature("font/woff")),
)
# Image types that browsers display.
_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def file_signature(data: bytes) -> FileSignature | None:
    """Return the file type by the first bytes; None if they match no signature."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _WEBP
    return next((found for start, found in _SIGNATURES if data.startswith(start)), None)


def image_type(data: bytes) -> str | None:
    """Return the media type of an image that browsers display; None for other data."""
    found = file_signature(data)
    return found.media_type if found is not None and found.media_type in _SHOWN else None
