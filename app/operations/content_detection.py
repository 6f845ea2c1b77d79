"""Detection of a file's content by bytes: binary or text, encoding, line endings."""

from __future__ import annotations

import codecs

from app.core.charsets import sure_encoding

_BINARY_PROBE = 8192
_MARK_BYTES = frozenset({0xEF, 0xFE, 0xFF})
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def is_binary(buffer: bytearray, end: int, start: int = 0) -> bool:
    """Return whether the first 8192 bytes contain NUL, the criterion of git and grep."""
    return buffer.find(b"\0", start, min(end, start + _BINARY_PROBE)) >= 0


def has_mark(buffer: bytearray, start: int = 0) -> bool:
    """Return whether a byte order mark may begin there; fast, and False is certain."""
    return buffer[start] in _MARK_BYTES


def unmarked(buffer: bytearray, end: int) -> tuple[bytearray, int]:
    """Return the text after a byte order mark as UTF-8, and its length; other text unchanged.

    Invalid UTF-16 is decoded as far as possible, like in ripgrep.
    """
    head = bytes(buffer[:3])
    if head.startswith(codecs.BOM_UTF8):
        return buffer[3:end], end - 3
    for mark, codec in _WIDE_MARKS:
        if head.startswith(mark):
            text = bytearray(buffer[2:end].decode(codec, "replace").encode("utf-8", "replace"))
            return text, len(text)
    return buffer, end


def with_plain_breaks(buffer: bytearray, start: int, end: int) -> bytes | None:
    r"""Return `buffer[start:end]` with line endings `\n`; None if it has no others.

    `\r` ends a line only if nothing else does, as on old Macs.
    """
    if buffer.find(b"\r", start, end) < 0:
        return None
    if buffer.find(b"\n", start, end) < 0:
        return bytes(buffer[start:end]).replace(b"\r", b"\n")
    if buffer.find(b"\r\n", start, end) < 0:
        return None
    return bytes(buffer[start:end]).replace(b"\r\n", b"\n")


def as_utf8(data: bytes) -> bytes | None:
    """Return a text in an East Asian encoding as UTF-8; None if uncertain."""
    if data.isascii():
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        encoding = sure_encoding(data)
    else:
        return None
    try:
        return None if encoding is None else data.decode(encoding).encode()
    except UnicodeDecodeError:
        return None
