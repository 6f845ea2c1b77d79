"""Fetching what a page asks for, from public addresses only.

A name is resolved here, every address it has is checked, and the connection goes to an
address that was checked: a second answer of the name server changes nothing.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from app.core.errors import ToolFailed
from app.operations.screens.addresses import is_public

_CONNECT_S = 10.0
_READ_S = 20.0
_MAX_CONNECTIONS = 16
# Said about a connection or decided by us, not by a page.
_DROPPED = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "host", "keep-alive", "te"),
        *("proxy-authorization", "proxy-connection", "trailer", "transfer-encoding", "upgrade"),
        *("authorization-internal", "x-devtools-emulate-network-conditions-client-id"),
    }
)
_NOT_PASSED_ON = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response, its body decoded."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def check_url(url: str) -> None:
    """Refuse what is no web address.

    Raises:
        ToolFailed: `invalid_url`.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ToolFailed(f"{url[:200]!r} is no URL", code="invalid_url") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ToolFailed(
            f"{url[:200]!r} is no http or https address with a host", code="invalid_url"
        )
    if parts.username is not None or parts.password is not None:
        raise ToolFailed("The URL must not hold a user name or password", code="invalid_url")


class Fetcher:
    """An HTTP client that reaches nothing but what it may."""

    def __init__(self, *, allow_private: bool) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            max_connections=_MAX_CONNECTIONS,
            network_backend=_CheckedNetwork(allow_private=allow_private),
        )

    async def __aenter__(self) -> Fetcher:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._pool.__aexit__(kind, error, trace)

    async def fetch(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, max_bytes: int
    ) -> Fetched:
        """One request; redirects are answers like any other.

        Raises:
            ToolFailed: `invalid_url`, `address_refused`, `fetch_failed`, `file_too_large`.
        """
        check_url(url)
        sent = [(name, value) for name, value in headers.items() if name.lower() not in _DROPPED]
        timeout = {"connect": _CONNECT_S, "read": _READ_S, "write": _READ_S, "pool": _READ_S}
        try:
            async with self._pool.stream(
                method,
                url,
                headers=[*sent, ("Host", urlsplit(url).netloc), ("Accept-Encoding", "identity")],
                content=body,
                extensions={"timeout": timeout},
            ) as response:
                return await _read(response, max_bytes)
        except (
            httpcore2.NetworkError,
            httpcore2.TimeoutException,
            httpcore2.ProtocolError,
            httpcore2.UnsupportedProtocol,
            UnicodeError,
            OSError,
        ) as error:
            raise ToolFailed(
                f"{url[:200]!r} cannot be fetched: {error or type(error).__name__}",
                code="fetch_failed",
            ) from None


async def _read(response: httpcore2.Response, max_bytes: int) -> Fetched:
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers
    ]
    encoding = next((value for name, value in headers if name.lower() == "content-encoding"), "")
    kept = [(name, value) for name, value in headers if name.lower() not in _NOT_PASSED_ON]
    return Fetched(response.status, kept, _decoded(bytes(body), encoding, max_bytes))


def _decoded(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Some servers compress although they were asked not to."""
    if encoding.lower() in ("", "identity") or not body:
        return body
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise ToolFailed(f"Unknown content encoding {encoding[:40]!r}", code="fetch_failed")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        decoded = decoder.decompress(body, max_bytes + 1)
    except zlib.error:
        raise ToolFailed("The compressed body is damaged", code="fetch_failed") from None
    if len(decoded) > max_bytes:
        raise _too_large(max_bytes)
    return decoded


def _too_large(max_bytes: int) -> ToolFailed:
    return ToolFailed(f"The response is larger than {max_bytes} bytes", code="file_too_large")


class _CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Connections to checked addresses."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        address = await self._checked(host, port)
        return await self._network.connect_tcp(
            address, port, timeout, local_address, socket_options
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.UnsupportedProtocol("no sockets of this machine")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _checked(self, host: str, port: int) -> str:
        """An address of `host`.

        Raises:
            ToolFailed: `address_refused` when one of its addresses is not public.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        if not addresses:
            raise ToolFailed(f"{host!r} has no address", code="fetch_failed")
        refused = [address for address in addresses if not is_public(address)]
        if refused and not self._allow_private:
            raise ToolFailed(
                f"{host!r} leads to {refused[0]}, which is not on the public Internet; an "
                "operator can allow that with screens.allow_private",
                code="address_refused",
                host=host,
            )
        return addresses[0]
