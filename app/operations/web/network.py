"""Connections to checked addresses.

A name is resolved here, all its addresses are checked, and the connection uses a checked address: a
different second answer of the name server has no effect.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore2

from app.operations.web.destinations import Destinations
from app.operations.web.protocol import NotConnected
from app.operations.web.resolver import AddressResolver

_MAX_ADDRESSES = 4
_EACH_S = 5.0


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Network backend of a connection pool."""

    def __init__(
        self,
        destinations: Destinations,
        resolver: AddressResolver,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._destinations = destinations
        self._resolver = resolver
        self._network = network or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await self._addresses(host, port)
        except (OSError, UnicodeError):
            raise NotConnected(f"Cannot resolve {host!r}", code="fetch_failed") from None
        self._destinations.check_addresses(host, port, addresses)
        tried = addresses[:_MAX_ADDRESSES]
        each = min(timeout or _EACH_S, _EACH_S) if len(tried) > 1 else timeout
        for address in tried[:-1]:
            try:
                return await self._network.connect_tcp(
                    address, port, each, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._network.connect_tcp(tried[-1], port, each, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.UnsupportedProtocol("this machine has no sockets")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            pass
        if host == "localhost" or host.endswith(".localhost"):
            return ["127.0.0.1"]
        return await self._resolver.resolve(host, port)
