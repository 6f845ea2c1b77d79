"""Requests of SOCKS5 clients (RFC 1928), without authentication."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

VERSION = 5
NO_AUTHENTICATION = b"\x05\x00"
SUCCEEDED, NOT_ALLOWED, UNREACHABLE = 0, 2, 4
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4


class BadSocks(ValueError):
    """What the client sent is no request to connect."""


@dataclass(slots=True)
class SocksReader:
    """Reads from `take`, which returns more bytes, or none at the end."""

    take: Callable[[], Awaitable[bytes]]
    buffer: bytes = b""

    async def methods(self) -> None:
        """Read the client's methods.

        Raises:
            BadSocks: it is no greeting, or it offers only methods with authentication.
        """
        version, count = await self._exactly(2)
        offered = await self._exactly(count)
        if version != VERSION or 0 not in offered:
            raise BadSocks("only SOCKS5 without authentication is supported")

    async def target(self) -> tuple[str, int]:
        """Return the host, as written, and the port.

        Raises:
            BadSocks: it is no request to connect.
        """
        version, command, _, kind = await self._exactly(4)
        if version != VERSION or command != _CONNECT:
            raise BadSocks("only connections are supported")
        if kind == _NAME:
            (length,) = await self._exactly(1)
            host = (await self._exactly(length)).decode("ascii", "replace")
        elif kind in (_IPV4, _IPV6):
            host = str(ipaddress.ip_address(await self._exactly(4 if kind == _IPV4 else 16)))
        else:
            raise BadSocks("unknown kind of address")
        return host, int.from_bytes(await self._exactly(2))

    async def _exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            more = await self.take()
            if not more:
                raise BadSocks("the request is incomplete")
            self.buffer += more
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data


def reply(status: int) -> bytes:
    """Return the answer to a request."""
    return bytes((VERSION, status, 0, _IPV4, 0, 0, 0, 0, 0, 0))
