"""The client against a scripted server: what a network and a bad server can do to it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import websockets
from websockets.asyncio.server import ServerConnection

from app.cli.client import Event, WsClient
from app.cli.service_errors import ConnectionFailed

Script = Callable[["Peer"], Awaitable[None]]


class Peer:
    """The server's end of one connection."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket

    async def send(self, kind: str, **fields: Any) -> None:
        await self._socket.send(json.dumps({"v": 1, "type": kind, **fields}))

    async def receive(self) -> Event:
        message: Event = json.loads(await self._socket.recv())
        return message

    async def event(self, seq: int) -> None:
        """A durable event of the session `s`."""
        await self.send("run_started", session_id="s", epoch="e", seq=seq, trigger="direct")

    async def subscribed(self, head: int, *, recovered: bool = True, epoch: str = "e") -> Event:
        """Answer a `subscribe`; what it asked for."""
        command = await self.receive()
        assert command["type"] == "subscribe"
        await self.send(
            "subscribed",
            ref=command["id"],
            session_id="s",
            epoch=epoch,
            head=head,
            recovered=recovered,
            replay_from=command["after"] + 1,
            pending_confirmations=[],
        )
        return command

    async def close(self, code: int = 1001, reason: str = "") -> None:
        await self._socket.close(code, reason)

    async def linger(self) -> None:
        """Stay until the client leaves."""
        await self._socket.wait_closed()


class scripted:  # noqa: N801 - used like a function
    """A server that plays one script per connection, after the greeting."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = iter(scripts)

    async def __aenter__(self) -> str:
        self._server = await websockets.serve(self._play, "127.0.0.1", 0)
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _play(self, socket: ServerConnection) -> None:
        peer = Peer(socket)
        assert (await peer.receive())["type"] == "hello"
        await peer.send("ready", heartbeat_ms=20_000, features=[])
        await next(self._scripts)(peer)


async def events_of(client: WsClient, count: int) -> list[int]:
    """The `seq` of the next durable events."""
    seen: list[int] = []
    async with asyncio.timeout(60):
        async for event in client.events():
            if "seq" in event:
                seen.append(event["seq"])
            if len(seen) == count:
                return seen
    raise AssertionError


async def test_a_command_that_was_not_answered_is_sent_again_under_the_same_id():
    sent: list[Event] = []

    async def swallow(peer: Peer) -> None:
        sent.append(await peer.receive())
        await peer.close()

    async def answer(peer: Peer) -> None:
        sent.append(await peer.receive())
        await peer.send("ack", ref=sent[-1]["id"], result={"run_id": "r"}, duplicate=True)
        await peer.linger()

    async with scripted(swallow, answer) as url, WsClient(url) as client:
        assert await client.command("ping") == {"run_id": "r"}
    assert sent[0] == sent[1]


async def test_a_resume_names_the_epoch_and_the_last_event_seen():
    asked: list[Event] = []

    async def first(peer: Peer) -> None:
        asked.append(await peer.subscribed(2))
        for seq in (1, 2):
            await peer.event(seq)
        await peer.close(4003, "slow_consumer")

    async def second(peer: Peer) -> None:
        asked.append(await peer.subscribed(3))
        for seq in (2, 3, 4):
            await peer.event(seq)
        await peer.linger()

    async with scripted(first, second) as url, WsClient(url) as client:
        await client.subscribe("s")
        assert await events_of(client, 4) == [1, 2, 3, 4]
    assert [(item["after"], item.get("epoch")) for item in asked] == [(0, None), (2, "e")]


async def test_a_gap_is_never_passed_on_but_asked_for_again():
    async def lossy(peer: Peer) -> None:
        await peer.subscribed(0)
        for seq in (1, 4, 5):
            await peer.event(seq)
        assert (await peer.subscribed(5))["after"] == 1
        for seq in (2, 3, 4, 5, 6):
            await peer.event(seq)
        await peer.linger()

    async with scripted(lossy) as url, WsClient(url) as client:
        await client.subscribe("s")
        assert await events_of(client, 6) == [1, 2, 3, 4, 5, 6]


async def test_a_heartbeat_reveals_what_was_lost_silently():
    async def silent(peer: Peer) -> None:
        await peer.subscribed(0)
        await peer.send("heartbeat", ts="t", heads={"s": 2, "other": 9})
        assert (await peer.subscribed(2))["after"] == 0
        for seq in (1, 2):
            await peer.event(seq)
        await peer.linger()

    async with scripted(silent) as url, WsClient(url) as client:
        await client.subscribe("s")
        assert await events_of(client, 2) == [1, 2]


async def test_a_new_epoch_is_reported_and_gone_on_from():
    async def before(peer: Peer) -> None:
        await peer.subscribed(5)
        await peer.close(1012, "restart")

    async def after(peer: Peer) -> None:
        await peer.subscribed(7, recovered=False, epoch="e2")
        await peer.send("run_started", session_id="s", epoch="e2", seq=8, trigger="direct")
        await peer.linger()

    async with scripted(before, after) as url, WsClient(url) as client:
        await client.subscribe("s")
        assert await events_of(client, 1) == [8]


@pytest.mark.parametrize(("code", "reason"), [(4501, "unauthenticated"), (4999, "never again")])
async def test_a_close_that_says_stop_is_obeyed(code, reason):
    async def refuse(peer: Peer) -> None:
        await peer.close(code, reason)

    async with scripted(refuse) as url, WsClient(url) as client:
        with pytest.raises(ConnectionFailed, match=reason):
            await events_of(client, 1)


async def test_a_server_that_talks_nonsense_ends_the_client_and_does_not_hang_it():
    async def babble(peer: Peer) -> None:
        await peer.send("heartbeat")
        await peer.linger()

    async with scripted(babble) as url, WsClient(url) as client:
        with pytest.raises(ConnectionFailed, match="not a Tollgate server"):
            await events_of(client, 1)
