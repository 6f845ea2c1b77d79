"""Minimal WebSocket client, which counts frames and stores the last one.

It must be cheaper than the measured servers on the same machine.
"""

from __future__ import annotations

import asyncio
import struct
from typing import cast
from urllib.parse import urlsplit

_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA
_KEY = "dGhlIHNhbXBsZSBub25jZQ=="


class WireClient(asyncio.Protocol):
    """Connection. `received` is the number of text frames, `last` the latest."""

    def __init__(self) -> None:
        self.received = 0
        self.last = b""
        self.ended: str | None = None
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._is_open = False
        self._changed: asyncio.Future[None] | None = None
        self._wanted = 0

    @classmethod
    async def connect(cls, url: str, path: str) -> WireClient:
        """Connect to `path` of the server at `url`."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        loop = asyncio.get_running_loop()
        transport, client = await loop.create_connection(cls, parts.hostname, parts.port)
        transport.write(
            f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {_KEY}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        await client._wait(0)
        return client

    def send(self, text: bytes) -> None:
        """Send one text frame."""
        self._write(_TEXT, text)

    async def until(self, received: int) -> None:
        """Wait for this total number of text frames."""
        if self.received < received:
            await self._wait(received)

    async def ask(self, text: bytes) -> bytes:
        """Send a frame; return the next received one."""
        wanted = self.received + 1
        self.send(text)
        await self.until(wanted)
        return self.last

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = self.ended or f"connection lost: {error}"
        if self._changed is not None and not self._changed.done():
            self._changed.set_exception(ConnectionError(self.ended))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._is_open:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if b" 101 " not in self._buffer[: self._buffer.find(b"\r\n")]:
                self.ended = self._buffer[:end].decode("latin-1")
                self.close()
                return
            del self._buffer[: end + 4]
            self._is_open = True
        self._take_frames()
        if self._changed is not None and self.received >= self._wanted:
            changed, self._changed = self._changed, None
            if not changed.done():
                changed.set_result(None)

    async def _wait(self, received: int) -> None:
        if self.ended is not None:
            raise ConnectionError(self.ended)
        self._wanted = received
        self._changed = asyncio.get_running_loop().create_future()
        await self._changed

    def _take_frames(self) -> None:
        buffer, position, size = self._buffer, 0, len(self._buffer)
        while size - position >= 2:
            length, start = buffer[position + 1], position + 2
            if length == 126:
                start += 2
            elif length == 127:
                start += 8
            if start > size:
                break
            if length >= 126:
                length = int.from_bytes(buffer[position + 2 : start], "big")
            if start + length > size:
                break
            self._take(buffer[position] & 0x0F, start, start + length)
            position = start + length
        del buffer[:position]

    def _take(self, opcode: int, start: int, end: int) -> None:
        if opcode == _TEXT:
            self.received += 1
            self.last = bytes(self._buffer[start:end])
        elif opcode == _PING:
            self._write(_PONG, bytes(self._buffer[start:end]))
        elif opcode == _CLOSE:
            self.ended = f"closed by the server: {bytes(self._buffer[start + 2 : end])!r}"

    def _write(self, opcode: int, payload: bytes) -> None:
        """Write a frame, masked as required for clients, with a key of zeros, which changes
        nothing.
        """
        assert self._transport is not None
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | length)
        else:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, length)
        self._transport.write(head + bytes(4) + payload)
