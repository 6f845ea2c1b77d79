"""Just enough HTTP/1.1 to answer one client at a time on a connection that stays open.

Hand-written because a test must control which bytes are sent together, and end a stream regularly,
break it, or detect that the client disconnects.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`headers` have lower-case names; `path` has no query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Disconnected(Exception):
    """The client disconnected."""


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> HttpRequest | None:
        """Return the next request; None if the client is done.

        Raises: Disconnected in the middle of a request.
        """
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise Disconnected from None
            return None
        except ConnectionError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _version = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        try:
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Disconnected from None
        return HttpRequest(method, target.partition("?")[0], headers, body)

    async def send(
        self,
        status: int,
        body: Any,
        headers: Mapping[str, str],
        content_type: str = "application/json",
    ) -> None:
        """Send a whole response; `body` is text, or any JSON value."""
        encoded = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        payload = encoded.encode()
        fields = {"content-type": content_type, "content-length": str(len(payload)), **headers}
        await self._write(_head(status, fields) + payload)

    async def begin_stream(self, headers: Mapping[str, str]) -> None:
        fields = {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "transfer-encoding": "chunked",
            **headers,
        }
        await self._write(_head(200, fields))

    async def send_chunk(self, data: bytes) -> None:
        await self._write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_stream(self) -> None:
        await self._write(b"0\r\n\r\n")

    async def hung_up(self) -> None:
        """Wait until the client closes; it must not send anything meanwhile."""
        try:
            while await self._reader.read(1024):
                pass
        except ConnectionError:
            return

    def abort(self) -> None:
        """Reset the connection without a regular end."""
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            raise Disconnected from None


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Overloaded"
    lines = [
        f"HTTP/1.1 {status} {phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
