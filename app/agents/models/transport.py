"""Limits on trust in a provider's HTTP server: no redirects, bounded responses.

Imports the HTTP library, so it is imported only together with an SDK's client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2

MAX_ANSWER_BYTES = 64 << 20
"""Maximum size of one response on the wire: several times that of the longest."""
MAX_ANSWER_S = 3600.0
"""Maximum duration of one response, even if its server keeps sending."""


def client_options(
    *, max_bytes: int = MAX_ANSWER_BYTES, max_seconds: float = MAX_ANSWER_S
) -> dict[str, Any]:
    """Return keyword arguments for the HTTP client of an SDK.

    Redirects are not followed: the other server would receive the key and the conversation. Only
    uncompressed responses are accepted, because a limit on compressed bytes does not limit the
    content.
    """

    async def bound(response: httpx2.Response) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.strip().lower() not in ("", "identity"):
            raise httpx2.RemoteProtocolError("the response is compressed, which was not requested")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, max_bytes, max_seconds)

    return {
        "follow_redirects": False,
        "headers": {"Accept-Encoding": "identity"},
        "event_hooks": {"response": [bound]},
    }


class _Bounded(httpx2.AsyncByteStream):
    """Bytes of a response, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int, max_seconds: float) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        left, until = self._max_bytes, now() + self._max_seconds
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise httpx2.ReadError(f"the response exceeds {self._max_bytes} bytes")
            if now() > until:
                raise httpx2.ReadError(f"the response took more than {self._max_seconds:g} s")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
