"""Network of one sandbox: its listening sockets, its name server and its connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import cast

from app.core.host_rules import HostRules
from app.operations.egress.connection import ProxiedConnection
from app.operations.egress.dns import TcpQueries, answer, framed
from app.operations.egress.messages import Message
from app.operations.egress.refusal import ConnectionRefused, Destination, not_allowed
from app.operations.egress.sides import Side
from app.operations.egress.synthetic import SyntheticAddresses
from app.operations.egress.turns import Turns

READY, LAST = b"ready", b"last"
MAX_AT_ONCE = 256
MAX_CONNECTIONS = 20_000
MAX_BYTES = 16 << 30
_KNOWN_S = 5.0
_MOST_KNOWN = 1_000
_MOST_REFUSED_NAMES = 200
_MOST_REFUSALS = 1_000  # reported one by one
_QUESTIONS_AT_ONCE = 4  # a host that does not resolve occupies a thread of the service for a while
_MOST_DESCRIPTORS = 64
_MOST_NAME_CONNECTIONS = 32
_QUERIES_AT_ONCE = 8 << 10  # bytes; all networks wait while they are answered
_BACKLOG = 512
_QUERY_BYTES = 4096
_NAMES = 53
_IP_PKTINFO = 8  # linux/in.h

Ask = Callable[[str, int], Awaitable[Sequence[Destination]]]
Report = Callable[[Message], None]


class EgressSession:
    """Serves the sockets of one sandbox until it closes `control`.

    Args:
        rules: hosts that it may reach.
        ask: returns where an allowed host is reached.
        report: called with each message about its connections; the last one is `ended`.
    """

    def __init__(
        self,
        control: socket.socket,
        rules: HostRules,
        proxy_port: int,
        *,
        ask: Ask,
        report: Report,
    ) -> None:
        self.proxy_port = proxy_port
        self.turns = Turns()
        self._loop = asyncio.get_running_loop()
        self._control = control
        self._rules = rules
        self._ask = ask
        self._report = report
        self._synthetic = SyntheticAddresses()
        self._servers: list[asyncio.Server] = []
        self._names: list[socket.socket] = []
        self._lookups: set[asyncio.Transport] = set()
        self._connections: dict[asyncio.Task[None], ProxiedConnection] = {}
        self._begun: dict[int, float] = {}
        self._known: dict[Destination, tuple[float, Sequence[Destination]]] = {}
        self._refused_names: set[str] = set()
        self._refusals = 0
        self._may_ask = asyncio.Semaphore(_QUESTIONS_AT_ONCE)
        self._asking: set[asyncio.Task[Sequence[Destination]]] = set()
        self._last_number = 0
        self._bytes = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._one_by_one = asyncio.Lock()
        self._ended = False
        control.setblocking(False)
        self._loop.add_reader(control.fileno(), self._readable)

    # `Permission` of its connections.

    def name_of(self, address: str) -> str:
        return self._synthetic.name_of(address)

    def check(self, host: str, port: int) -> None:
        if not self._rules.allow(host, port):
            raise not_allowed(host, port)

    async def destinations(self, host: str, port: int) -> Sequence[Destination]:
        until, found = self._known.get((host, port), (0.0, ()))
        if monotonic() < until:
            return found
        await self._may_ask.acquire()
        question = self._loop.create_task(self._question(host, port))
        self._asking.add(question)
        question.add_done_callback(self._asked)
        # A program that has gone does not free the place of a question that is still answered.
        return await asyncio.shield(question)

    async def _question(self, host: str, port: int) -> Sequence[Destination]:
        found = await self._ask(host, port)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[host, port] = monotonic() + _KNOWN_S, found
        return found

    def _asked(self, question: asyncio.Task[Sequence[Destination]]) -> None:
        self._may_ask.release()
        self._asking.discard(question)
        if not question.cancelled():
            question.exception()  # read, so that it is not reported as never retrieved

    def opened(self, host: str, port: int) -> int:
        if len(self._begun) >= MAX_AT_ONCE or self._last_number >= MAX_CONNECTIONS:
            raise ConnectionRefused("limit_exceeded", "the command has too many connections")
        self._last_number += 1
        self._begun[self._last_number] = monotonic()
        self._report(
            {"type": "opened", "connection": self._last_number, "host": host, "port": port}
        )
        return self._last_number

    def closed(self, number: int, up: int, down: int, refused: ConnectionRefused | None) -> None:
        lasted = monotonic() - self._begun.pop(number)
        message: Message = {
            "type": "closed",
            "connection": number,
            "bytes_up": up,
            "bytes_down": down,
            "duration_s": round(lasted, 6),
        }
        if refused is not None:
            message |= {"code": refused.code, "reason": refused.reason}
        self._report(message)

    def refused(self, host: str, port: int, why: ConnectionRefused) -> None:
        self._refusals += 1
        if self._refusals > _MOST_REFUSALS:
            return
        self._report(
            {"type": "refused", "host": host, "port": port, "code": why.code, "reason": why.reason}
        )

    def spend(self, count: int) -> None:
        self._bytes += count
        if self._bytes > MAX_BYTES:
            for connection in self._connections.values():
                connection.abort()

    # The sandbox's side.

    def end(self) -> None:
        """Close everything; may be called repeatedly."""
        if self._ended:
            return
        self._ended = True
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        for server in self._servers:
            server.close()
        for one in self._names:
            self._loop.remove_reader(one.fileno())
            one.close()
        for lookups in list(self._lookups):
            lookups.abort()
        for task, connection in self._connections.items():
            connection.abort()
            task.cancel()
        for question in self._asking:
            question.cancel()
        self._report_end()

    def _report_end(self) -> None:
        if self._ended and not self._connections:
            unreported = max(0, self._refusals - _MOST_REFUSALS)
            self._report({"type": "ended", "unreported": unreported})

    def _readable(self) -> None:
        """Take sockets from the sandbox, or notice its end."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 64, _MOST_DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            message, descriptors = b"", []
        sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        if not message or not sockets:
            for one in sockets:
                one.close()
            self.end()
            return
        task = self._loop.create_task(self._serve(sockets, last=message == LAST))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _serve(self, sockets: list[socket.socket], *, last: bool) -> None:
        async with self._one_by_one:
            for one in sockets:
                if self._ended:
                    one.close()
                    continue
                one.setblocking(False)
                if one.type == socket.SOCK_DGRAM:
                    self._names.append(one)
                    self._loop.add_reader(one.fileno(), self._look_up, one)
                    continue
                names = one.getsockname()[1] == _NAMES
                server = await self._loop.create_server(
                    self._name_server if names else self._accepted, sock=one, backlog=_BACKLOG
                )
                self._keep(server)
            if last and not self._ended:
                with suppress(OSError):
                    self._control.send(READY)

    def _keep(self, server: asyncio.Server) -> None:
        self._servers.append(server)
        if self._ended:  # while it was started
            server.close()

    def _accepted(self) -> Side:
        return _Inner(self.spend, self._run)

    def _run(self, side: Side) -> None:
        if self._ended or len(self._connections) >= 2 * MAX_AT_ONCE:
            side.abort()
            return
        connection = ProxiedConnection(self, side)
        task = self._loop.create_task(connection.run())
        self._connections[task] = connection
        task.add_done_callback(self._done)
        side.closed.add_done_callback(lambda _: self._left(task))

    def _left(self, task: asyncio.Task[None]) -> None:
        """The program has closed its side: a pending answer is of no use any more."""
        connection = self._connections.get(task)
        if connection is not None and not connection.joined:
            task.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        del self._connections[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler(
                {"message": "a proxied connection failed", "exception": error}
            )
        self._report_end()

    # Name lookups.

    def _address_of(self, name: str) -> str | None:
        if self._rules.know(name):
            return self._synthetic.address_of(name)
        if name not in self._refused_names and len(self._refused_names) < _MOST_REFUSED_NAMES:
            self._refused_names.add(name)
            self.refused(name, 0, not_allowed(name, None))
        return None

    def _look_up(self, one: socket.socket) -> None:
        try:
            query, control, _, client = one.recvmsg(_QUERY_BYTES, 256)
        except OSError:
            return
        reply = answer(query, self._address_of)
        if reply is not None:
            with suppress(OSError):  # from the address that was asked
                one.sendmsg([reply], _source(control), 0, client)

    def _name_server(self) -> asyncio.Protocol:
        return _NamesByTcp(self._address_of, self._lookups)


class _Inner(Side):
    """Side of a program."""

    def __init__(self, spend: Callable[[int], None], run: Callable[[Side], None]) -> None:
        super().__init__(spend)
        self._run = run

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._run(self)


class _NamesByTcp(asyncio.Protocol):
    """Name lookups on one TCP connection.

    Args:
        others: transports of such connections, which this one joins unless there are too many.
    """

    def __init__(
        self, address_of: Callable[[str], str | None], others: set[asyncio.Transport]
    ) -> None:
        self._queries = TcpQueries()
        self._address_of = address_of
        self._others = others
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses
        self._transport = cast("asyncio.Transport", transport)
        if len(self._others) >= _MOST_NAME_CONNECTIONS:
            self._transport.abort()
        else:
            self._others.add(self._transport)

    def connection_lost(self, _error: Exception | None) -> None:
        assert self._transport is not None
        self._others.discard(self._transport)

    def pause_writing(self) -> None:
        """The program does not read its answers: no more are made for it."""
        assert self._transport is not None
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        try:
            queries = self._queries.feed(data) if len(data) <= _QUERIES_AT_ONCE else None
        except ValueError:
            queries = None
        if queries is None:
            self._transport.abort()
            return
        for query in queries:
            reply = answer(query, self._address_of)
            if reply is not None:
                self._transport.write(framed(reply))


def _source(control: Sequence[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """Return the control message that answers from the address of a query."""
    found = []
    for level, kind, data in control:
        if level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO:
            found.append((level, kind, data))
        elif level == socket.IPPROTO_IP and kind == _IP_PKTINFO:
            # interface, own address, address that was asked
            found.append((level, kind, data[:4] + data[8:12] + data[8:12]))
    return found
