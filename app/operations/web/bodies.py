"""Response bodies, decoded incrementally within limits."""

from __future__ import annotations

import zlib

from app.core.errors import ToolFailed

ACCEPTED = "gzip, deflate"
_GZIP_MARK = b"\x1f\x8b"
_GZIP = zlib.MAX_WBITS | 16
_ZLIB = zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS


class BodyReader:
    """Collector of a body; neither its raw nor its decoded size may exceed `max_bytes`."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        """Args: encoding: the header Content-Encoding.

        Raises:
            ToolFailed: `fetch_failed` for an encoding that was not asked for.
        """
        named = [part.strip().lower() for part in encoding.split(",")]
        codings = [name.removeprefix("x-") for name in named if name not in ("", "identity")]
        if len(codings) > 1 or not set(codings) <= {"gzip", "deflate"}:
            raise ToolFailed(
                f"The body is encoded as {encoding[:40]!r}, which was not requested",
                code="fetch_failed",
            )
        self._coding = codings[0] if codings else ""
        self._max = max_bytes
        self._came = 0
        self._body = bytearray()
        self._decoder = zlib.decompressobj(_GZIP if self._coding == "gzip" else _ZLIB)

    def feed(self, chunk: bytes) -> None:
        """Add the next piece.

        Raises:
            ToolFailed: `file_too_large`, or `fetch_failed` for a damaged body.
        """
        first = self._came == 0
        self._came += len(chunk)
        if self._came > self._max:
            raise too_large(self._max)
        if not self._coding:
            self._body += chunk
            return
        try:
            self._unpack(chunk, first=first)
        except zlib.error:
            raise ToolFailed("The compressed body is malformed", code="fetch_failed") from None

    def finish(self) -> bytes:
        """Return the whole body.

        Raises:
            ToolFailed: `fetch_failed` when a compressed body ends early.
        """
        if self._coding and self._came and not self._decoder.eof:
            raise ToolFailed("The compressed body is truncated", code="fetch_failed")
        return bytes(self._body)

    def _unpack(self, chunk: bytes, *, first: bool) -> None:
        if first and self._coding == "deflate" and not _has_zlib_header(chunk):
            self._decoder = zlib.decompressobj(_RAW)
        while chunk:
            if self._decoder.eof:
                if self._coding != "gzip" or not chunk.startswith(_GZIP_MARK):
                    return  # Data after the end is ignored.
                self._decoder = zlib.decompressobj(_GZIP)
            room = self._max - len(self._body) + 1
            self._body += self._decoder.decompress(chunk, room)
            if len(self._body) > self._max:
                raise too_large(self._max)
            chunk = self._decoder.unconsumed_tail or self._decoder.unused_data


def too_large(max_bytes: int) -> ToolFailed:
    """Return the error for a too large body."""
    return ToolFailed(f"The response exceeds {max_bytes} bytes", code="file_too_large")


def _has_zlib_header(chunk: bytes) -> bool:
    """Return whether the data is a zlib stream: servers call both zlib and raw streams
    `deflate`.
    """
    return len(chunk) >= 2 and chunk[0] & 0x0F == 8 and (chunk[0] << 8 | chunk[1]) % 31 == 0
