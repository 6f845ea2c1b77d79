"""What a file's bytes say of its content: binary or text, encoding, ends of lines."""

from __future__ import annotations

import codecs

from app.core.charsets import sure_encoding

_BINARY_PROBE = 8192
_MARK_BYTES = frozenset({0xEF, 0xFE, 0xFF})
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def is_binary(buffer: bytearray, end: int, start: int = 0) -> bool:
    """NUL in the first 8192 bytes, as git and grep decide."""
    return buffer.find(b"\0", start, min(end, start + _BINARY_PROBE)) >= 0


def has_mark(buffer: bytearray, start: int = 0) -> bool:
    """Whether a byte order mark may begin there; cheap and never wrong with False."""
    return buffer[start] in _MARK_BYTES


def unmarked(buffer: bytearray, end: int) -> tuple[bytearray, int]:
    """The text behind a byte order mark, as UTF-8, and its length; other text as it is.

    What is no UTF-16 in spite of its mark is read as far as it goes, like ripgrep does.
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
    r"""`buffer[start:end]` with `\n` as the end of each line; None where it has no other.

    `\r` ends a line only where nothing else does, as on old Macs.
    """
    if buffer.find(b"\r", start, end) < 0:
        return None
    if buffer.find(b"\n", start, end) < 0:
        return bytes(buffer[start:end]).replace(b"\r", b"\n")
    if buffer.find(b"\r\n", start, end) < 0:
        return None
    return bytes(buffer[start:end]).replace(b"\r\n", b"\n")


def as_utf8(data: bytes) -> bytes | None:
    """A text in an encoding of East Asia as UTF-8; None where it is not surely one."""
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
