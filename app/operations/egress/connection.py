"""One connection of a program: who is wanted, whether that is allowed, and the way there.

The order is fixed. The host comes from the program's name lookup, from CONNECT or from SOCKS; it is
checked against the project's hosts, resolved and connected to by the service's answer; then the
first bytes must name the same host: `Host` on HTTP ports, SNI on TLS ports. Other ports are passed
on as they are.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from app.core.host_rules import normalise_host
from app.operations.egress.client_hello import ALERT_ACCESS_DENIED, NotTls, server_name
from app.operations.egress.http_requests import BadRequest, RequestReader, Target, refusal
from app.operations.egress.refusal import ConnectionRefused, Destination
from app.operations.egress.sides import Side
from app.operations.egress.socks import (
    NO_AUTHENTICATION,
    NOT_ALLOWED,
    SUCCEEDED,
    UNREACHABLE,
    VERSION,
    BadSocks,
    SocksReader,
    reply,
)
from app.operations.egress.turns import PART, Turns

HTTP_PORTS = frozenset({80, 8080})
TLS_PORTS = frozenset({443, 465, 636, 853, 989, 990, 993, 995, 5061, 6443, 8443})

_FIRST_BYTES_S = 20.0
_CONNECT_S = 10.0
_MOST_ADDRESSES = 4
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Kind = Literal["http", "tls", "plain"]


class Permission(Protocol):
    """The part of a session that decides and keeps count.

    Attributes:
        turns: of its connections at costly work.
    """

    proxy_port: int
    turns: Turns

    def name_of(self, address: str) -> str:
        """Return the name that an address stands for, or the address."""

    def check(self, host: str, port: int) -> None:
        """Refuse a host that is not listed.

        Raises:
            ConnectionRefused: it may not be reached.
        """

    async def destinations(self, host: str, port: int) -> Sequence[Destination]:
        """Return where a listed host is reached, checked.

        Raises:
            ConnectionRefused: it may not be reached.
        """

    def opened(self, host: str, port: int) -> int:
        """Report a connection; return its number.

        Raises:
            ConnectionRefused: there are too many.
        """

    def closed(self, number: int, up: int, down: int, refused: ConnectionRefused | None) -> None:
        """Report the end of a connection, which may not have been made after all."""

    def refused(self, host: str, port: int, why: ConnectionRefused) -> None:
        """Report a connection that was not made."""

    def spend(self, count: int) -> None:
        """Count bytes of the session."""


@dataclass(slots=True)
class _Wanted:
    """What a program asked for.

    Attributes:
        host, port: normalised host.
        granted: answer that tells the program that it is connected.
        denied: returns the answer to a refusal.
        request: the request already read, for plain HTTP.
    """

    host: str
    port: int
    granted: bytes
    denied: Callable[[ConnectionRefused], bytes]
    request: RequestReader | None = None


def kind_of(port: int) -> Kind:
    """Return how the first bytes on a port are checked."""
    if port in HTTP_PORTS:
        return "http"
    return "tls" if port in TLS_PORTS else "plain"


class ProxiedConnection:
    """One accepted connection, served by `run`.

    Attributes:
        joined: whether bytes pass between both sides.
    """

    def __init__(self, permission: Permission, inner: Side) -> None:
        self._permission = permission
        self._inner = inner
        self._outer: Side | None = None
        self.joined = False
        self._number: int | None = None

    async def run(self) -> None:
        """Serve it to its end; raises nothing but cancellation."""
        wanted: _Wanted | None = None
        address, port = self._inner.local_address
        try:
            async with _first_bytes():
                wanted = await self._identify(address, port)
            await self._connect(wanted)
        except ConnectionRefused as why:
            self._refuse(wanted or _unknown(address, port, self._permission), why)
        finally:
            self._inner.close()
            if self._outer is not None:
                self._outer.close()

    def abort(self) -> None:
        """Close both sides at once."""
        self._inner.abort()
        if self._outer is not None:
            self._outer.abort()

    # Which host is wanted.

    async def _identify(self, address: str, port: int) -> _Wanted:
        if port == self._permission.proxy_port:
            first = await self._inner.take()
            self._inner.put_back(first)
            return await (self._socks() if first[:1] == bytes([VERSION]) else self._explicit())
        host = self._permission.name_of(address)
        kind = kind_of(port)
        if kind != "http":
            return _unknown(address, port, self._permission)
        reader = await self._request(port)
        self._permission.check(host, port)
        if reader.connect or reader.target != Target(host, port):
            raise ConnectionRefused("mismatch", f"the request names {reader.target}, not {host}")
        return _Wanted(host, port, b"", _http_denied, reader)

    async def _explicit(self) -> _Wanted:
        reader = await self._request(None)
        assert reader.target is not None
        host, port = self._permission.name_of(reader.target.host), reader.target.port
        if not reader.connect:
            return _Wanted(host, port, b"", _http_denied, reader)
        self._inner.put_back(reader.rest())
        return _Wanted(host, port, b"HTTP/1.1 200 Connection established\r\n\r\n", _http_denied)

    async def _request(self, port: int | None) -> RequestReader:
        reader = RequestReader(port)
        try:
            while reader.target is None:
                data = await self._inner.take()
                if not data:
                    raise ConnectionRefused("bad_request", "the request is incomplete")
                await self._permission.turns.next()
                reader.feed(data[:PART])
                self._inner.put_back(data[PART:])
        except BadRequest as error:
            raise ConnectionRefused("bad_request", str(error)) from None
        return reader

    async def _socks(self) -> _Wanted:
        reader = SocksReader(self._inner.take)
        try:
            await reader.methods()
            self._inner.send(NO_AUTHENTICATION)
            written, port = await reader.target()
            host = self._permission.name_of(normalise_host(written))
        except (BadSocks, ValueError) as error:
            raise ConnectionRefused("bad_request", str(error)) from None
        self._inner.put_back(reader.buffer)
        return _Wanted(host, port, reply(SUCCEEDED), _socks_denied)

    # The way there.

    async def _connect(self, wanted: _Wanted) -> None:
        host, port = wanted.host, wanted.port
        self._permission.check(host, port)
        destinations = await self._permission.destinations(host, port)
        self._number = number = self._permission.opened(host, port)
        refused: ConnectionRefused | None = None
        outer = Side(self._permission.spend)
        self._outer = outer
        try:
            await self._dial(outer, destinations, host)
            self._inner.send(wanted.granted)
            if wanted.granted:
                wanted.denied = _closed  # the program has its answer
            await self._join(wanted, outer)
            await outer.closed
            await self._inner.closed
        except ConnectionRefused as why:
            refused = why
            raise
        finally:
            self._permission.closed(number, self._inner.received, outer.received, refused)

    async def _dial(self, outer: Side, destinations: Sequence[Destination], host: str) -> None:
        loop = asyncio.get_running_loop()
        for address, port in destinations[:_MOST_ADDRESSES]:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_S):
                    await loop.create_connection(lambda: outer, address, port)
                return
        raise ConnectionRefused("unreachable", f"{host} does not answer")

    async def _join(self, wanted: _Wanted, outer: Side) -> None:
        reader = wanted.request
        kind = kind_of(wanted.port)
        if reader is None and kind == "http":  # through CONNECT or SOCKS
            reader = await self._named_request(wanted)
        if reader is not None:
            if reader.expects_continue:
                self._inner.send(_CONTINUE)
            outer.send(reader.take())
            self._inner.join(outer, _Remainder(reader), self._permission.turns)
        else:
            if kind == "tls":
                await self._check_hello(wanted)
            self._inner.join(outer)
        outer.join(self._inner)
        self.joined = True

    async def _named_request(self, wanted: _Wanted) -> RequestReader:
        async with _first_bytes():
            reader = await self._request(wanted.port)
        if reader.connect or reader.target != Target(wanted.host, wanted.port):
            raise ConnectionRefused(
                "mismatch", f"the request names {reader.target}, not {wanted.host}"
            )
        return reader

    async def _check_hello(self, wanted: _Wanted) -> None:
        data = b""
        name: str | None = None
        async with _first_bytes():
            while name is None:
                more = await self._inner.take()
                if not more:
                    raise ConnectionRefused("bad_request", "the TLS greeting is incomplete")
                data += more
                try:
                    name = server_name(data)
                except NotTls as error:
                    raise ConnectionRefused(
                        "mismatch", f"port {wanted.port} is for TLS: {error}"
                    ) from None
        expected = "" if _is_address(wanted.host) else wanted.host
        if name != expected:
            named = name or "no host"
            raise ConnectionRefused(
                "mismatch", f"the TLS greeting names {named}, not {wanted.host}"
            )
        self._inner.put_back(data)

    def _refuse(self, wanted: _Wanted, why: ConnectionRefused) -> None:
        if self._number is None:  # otherwise its end says so
            self._permission.refused(wanted.host, wanted.port, why)
        self._inner.send(wanted.denied(why))


@asynccontextmanager
async def _first_bytes() -> AsyncIterator[None]:
    """Refuse a program that sends too little in time."""
    try:
        async with asyncio.timeout(_FIRST_BYTES_S):
            yield
    except TimeoutError:
        why = "the program sent nothing to say which host it wants"
        raise ConnectionRefused("bad_request", why) from None


class _Remainder:
    """Filter that lets the rest of one request pass, and nothing after it."""

    def __init__(self, reader: RequestReader) -> None:
        self._reader = reader

    def __call__(self, data: bytes) -> bytes:
        self._reader.feed(data)
        return self._reader.take()


def _unknown(address: str, port: int, permission: Permission) -> _Wanted:
    """Return what the address and port alone say."""
    if port == permission.proxy_port:
        return _Wanted("", port, b"", _http_denied)
    kind = kind_of(port)
    denied = {"http": _http_denied, "tls": _tls_denied, "plain": _closed}[kind]
    return _Wanted(permission.name_of(address), port, b"", denied)


def _http_denied(why: ConnectionRefused) -> bytes:
    status = {"unreachable": 502, "bad_request": 400}.get(why.code, 403)
    return refusal(status, f"tollgate: {why.reason}")


def _tls_denied(why: ConnectionRefused) -> bytes:
    return b"" if why.code == "unreachable" else ALERT_ACCESS_DENIED


def _socks_denied(why: ConnectionRefused) -> bytes:
    return reply(UNREACHABLE if why.code == "unreachable" else NOT_ALLOWED)


def _closed(_why: ConnectionRefused) -> bytes:
    return b""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
