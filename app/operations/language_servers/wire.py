"""Base protocol of language servers: JSON messages with a length header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

MAX_MESSAGE = 32 << 20
_MAX_HEADER = 8 << 10
_END = b"\r\n\r\n"


class BrokenWire(Exception):
    """The received data is not a message of the protocol."""


def frame(message: dict[str, Any]) -> bytes:
    """Return a message in wire format."""
    body = orjson.dumps({"jsonrpc": "2.0", **message})
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """Incremental parser of messages. A server's output is as untrusted as its input."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted: int | None = None

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the messages completed by `data`.

        Raises:
            BrokenWire: a header without a length, a message over `MAX_MESSAGE` bytes, or
                one that is no JSON object.
        """
        self._buffer += data
        while True:
            if self._wanted is None:
                self._wanted = self._take_header()
            if self._wanted is None or len(self._buffer) < self._wanted:
                return
            body = bytes(self._buffer[: self._wanted])
            del self._buffer[: self._wanted]
            self._wanted = None
            yield _message(body)

    def _take_header(self) -> int | None:
        end = self._buffer.find(_END, 0, _MAX_HEADER)
        if end < 0:
            if len(self._buffer) >= _MAX_HEADER:
                raise BrokenWire("an unterminated header")
            return None
        header = bytes(self._buffer[:end])
        del self._buffer[: end + len(_END)]
        return _length(header)


def _length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        digits = value.strip()
        if name.strip().lower() == b"content-length" and digits.isdigit() and len(digits) < 10:
            if int(digits) > MAX_MESSAGE:
                raise BrokenWire(f"a message of more than {MAX_MESSAGE} bytes")
            return int(digits)
    raise BrokenWire("a header without Content-Length")


def _message(body: bytes) -> dict[str, Any]:
    try:
        message = orjson.loads(body)
    except ValueError:
        raise BrokenWire("a message that is not JSON") from None
    if not isinstance(message, dict):
        raise BrokenWire("a message that is not a JSON object")
    return message
