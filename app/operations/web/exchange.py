"""One request and its response, over connections to checked addresses."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from types import TracebackType

import httpcore2

from app.core.errors import ToolFailed
from app.core.text import clean
from app.core.tls import CLAUSES, tls_trouble
from app.operations.web.bodies import ACCEPTED, BodyReader
from app.operations.web.destinations import Destinations
from app.operations.web.network import CheckedNetwork
from app.operations.web.protocol import NotConnected
from app.operations.web.raw_response import RawResponse
from app.operations.web.resolver import AddressResolver, SystemResolver
from app.operations.web.urls import WebUrl

_CONNECT_S = 10.0
_READ_S = 20.0
_MAX_CONNECTIONS = 32
_IDLE_S = 15.0
_UNCONNECTED = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout)
# Headers of the connection, or set by us.
_OURS = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "host", "keep-alive", "te"),
        *("proxy-authorization", "proxy-connection", "trailer", "transfer-encoding", "upgrade"),
    }
)
_NO_BODY = frozenset({204, 304})


class Exchange:
    """HTTP client that reaches only its destinations and follows no redirects."""

    def __init__(
        self,
        destinations: Destinations,
        *,
        resolver: AddressResolver | None = None,
        ssl_context: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        """Create the client.

        Args:
            resolver: closed by the caller; by default this machine's.
            ssl_context: by default this machine's trusted certificates.
            network: opens the connections; by default this machine's.
        """
        self._destinations = destinations
        self._resolver = resolver or SystemResolver()
        self._owns_resolver = resolver is None
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context or httpcore2.default_ssl_context(),
            max_connections=_MAX_CONNECTIONS,
            keepalive_expiry=_IDLE_S,
            network_backend=CheckedNetwork(destinations, self._resolver, network),
        )

    async def __aenter__(self) -> Exchange:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        if self._owns_resolver:
            self._resolver.close()
        await self._pool.aclose()

    async def send(
        self,
        method: str,
        url: WebUrl,
        headers: Sequence[tuple[str, str]],
        body: bytes | None,
        max_bytes: int,
    ) -> RawResponse:
        """Send one request; redirects are ordinary responses.

        Raises:
            ToolFailed: `host_refused`, `address_refused`, `fetch_failed`, `file_too_large`.
        """
        self._destinations.check_host(url)
        sent = [(name, value) for name, value in headers if name.lower() not in _OURS]
        timeout = {"connect": _CONNECT_S, "read": _READ_S, "write": _READ_S, "pool": _READ_S}
        try:
            async with self._pool.stream(
                method,
                _wire(url),
                headers=[("Host", url.authority), *sent, ("Accept-Encoding", ACCEPTED)],
                content=body,
                extensions={"timeout": timeout},
            ) as response:
                return await _read(method, response, max_bytes)
        except (
            httpcore2.NetworkError,
            httpcore2.TimeoutException,
            httpcore2.ProtocolError,
            httpcore2.UnsupportedProtocol,
            UnicodeError,
            OSError,
        ) as error:
            kind = NotConnected if isinstance(error, _UNCONNECTED) else ToolFailed
            raise kind(
                f"Cannot fetch {str(url)[:200]!r}: {_why(error)}", code="fetch_failed"
            ) from None


def _why(error: Exception) -> str:
    if isinstance(error, httpcore2.RemoteProtocolError):
        # Part of the error's message comes from the server.
        return "the server's response violates HTTP"
    trouble = tls_trouble(error)
    if trouble is not None:
        return CLAUSES[trouble]
    return clean(str(error))[:300] or type(error).__name__


def _wire(url: WebUrl) -> httpcore2.URL:
    return httpcore2.URL(
        scheme=url.scheme.encode(),
        host=url.host.encode(),
        port=url.port,
        target=url.target.encode("ascii"),
    )


async def _read(method: str, response: httpcore2.Response, max_bytes: int) -> RawResponse:
    headers = tuple(
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in response.headers
    )
    if method == "HEAD" or response.status in _NO_BODY:
        return RawResponse(response.status, headers, b"")
    encodings = [value for name, value in headers if name == "content-encoding"]
    reader = BodyReader(",".join(encodings), max_bytes)
    async for chunk in response.aiter_stream():
        reader.feed(chunk)
    return RawResponse(response.status, headers, reader.finish())
