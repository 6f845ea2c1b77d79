"""Networks of sandboxes: what they ask and report is bounded, and they end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Iterator, Sequence

import pytest

from app.core.errors import ToolFailed
from app.core.host_rules import HostRules
from app.operations.egress.egress import Egress
from app.operations.egress.messages import Message
from app.operations.egress.refusal import ConnectionRefused, Destination, not_allowed
from app.operations.egress.session import LAST, EgressSession
from tests.operations.egress.servers import Hosts

pytestmark = pytest.mark.asyncio


class Service:
    """What a session asks and reports; questions are answered when `answers` is set."""

    def __init__(self) -> None:
        self.asked = 0
        self.reported: list[Message] = []
        self.answers = asyncio.Event()

    async def ask(self, host: str, _port: int) -> Sequence[Destination]:
        self.asked += 1
        await self.answers.wait()
        raise ConnectionRefused("unreachable", f"{host} has no address")


@contextlib.contextmanager
def session(service: Service) -> Iterator[tuple[EgressSession, socket.socket]]:
    """A session, and the sandbox's end of its control socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    rules = HostRules.of(["*.web.example"])
    made = EgressSession(ours, rules, 3128, ask=service.ask, report=service.reported.append)
    with theirs:
        yield made, theirs
        made.end()


async def turns_of_the_loop(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_refusals_beyond_a_thousand_are_only_counted() -> None:
    service = Service()
    with session(service) as (made, _):
        for number in range(1500):
            host = f"{number}.example"
            made.refused(host, 443, not_allowed(host, 443))

    kinds = [message["type"] for message in service.reported]
    assert kinds == ["refused"] * 1000 + ["ended"]
    assert service.reported[-1]["unreported"] == 500


async def test_a_network_asks_for_a_few_hosts_at_once() -> None:
    service = Service()
    with session(service) as (made, _):
        asking = [
            asyncio.ensure_future(made.destinations(f"{number}.web.example", 443))
            for number in range(10)
        ]
        await turns_of_the_loop()
        assert service.asked == 4
        asking[0].cancel()
        await turns_of_the_loop()
        assert service.asked == 4  # the service is still busy with it

        service.answers.set()
        await asyncio.wait(asking)

    assert service.asked == 10
    assert [isinstance(one.exception(), ConnectionRefused) for one in asking[1:]] == [True] * 9


async def test_sockets_that_arrive_with_the_end_of_a_sandbox_are_closed() -> None:
    with session(Service()) as (_, theirs), socket.create_server(("127.0.0.1", 0)) as server:
        socket.send_fds(theirs, [LAST], [server.fileno()])
        place = server.getsockname()
        server.close()
        theirs.close()
        await turns_of_the_loop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place)


async def test_a_proxy_that_dies_while_it_reads_nothing_is_replaced() -> None:
    egress = Egress(Hosts())
    rules = HostRules.of(["web.example"])
    taken: list[int] = []

    async def open_one() -> None:
        taken.append((await egress.open(rules))[1])

    try:
        await open_one()
        assert egress.pid is not None
        os.kill(egress.pid, signal.SIGSTOP)
        opening = asyncio.ensure_future(open_one())
        while len(taken) < 5_000:
            await asyncio.wait({opening}, timeout=1)
            if not opening.done():
                break
            opening = asyncio.ensure_future(open_one())
        os.kill(egress.pid, signal.SIGKILL)
        with pytest.raises(ToolFailed, match="has ended"):
            await asyncio.wait_for(opening, 60)
        await open_one()
    finally:
        for descriptor in taken:
            os.close(descriptor)
        await egress.close()
