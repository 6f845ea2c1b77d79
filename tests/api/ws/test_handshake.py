"""Who gets in, and how the others are turned away."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest
import websockets

from tests.support.service import Running, serving, settings_for

TOKEN = "a-token-of-the-test"


async def closing(running: Running, first: object, **options: object) -> tuple[int, str]:
    """Send one frame and wait for the end; code and reason."""
    async with running.socket(**options) as socket:
        if first is not None:
            await socket.send(first if isinstance(first, bytes) else json.dumps(first))
        async with asyncio.timeout(60):
            async for _ in _all(socket):
                pass
        return socket.close_code or 0, socket.close_reason or ""


async def _all(socket: websockets.ClientConnection):
    try:
        async for message in socket:
            yield message
    except websockets.ConnectionClosed:
        return


async def test_ready_tells_who_one_is_and_what_the_limits_are(running: Running):
    async with running.connect() as chat:
        ready = chat.seen[0]

    assert ready["type"] == "ready"
    assert ready["user_id"] == "local"
    assert ready["limits"]["max_frame_bytes"] == 1 << 20
    assert "model" not in ready["features"]


async def test_the_subprotocol_is_echoed(running: Running):
    async with running.socket() as socket:
        assert socket.subprotocol == "tollgate.v1"


async def test_an_unknown_subprotocol_is_unsupported(running: Running):
    assert (await closing(running, None, subprotocols=["other.v9"]))[0] == 4504


async def test_a_client_without_subprotocols_may_talk(running: Running):
    async with running.connect(subprotocols=None) as chat:
        assert (await chat.command(type="ping"))["type"] == "ack"


async def test_a_command_before_hello_violates_the_protocol(running: Running):
    assert (await closing(running, {"type": "ping", "id": "1"}))[0] == 4507


async def test_a_second_hello_violates_the_protocol(running: Running):
    async with running.connect() as chat:
        await chat.send({"type": "hello", "id": "again"})
        with pytest.raises(websockets.ConnectionClosedError) as closed:
            await chat.until("never")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4507


async def test_silence_ends_in_a_hello_timeout(tmp_path: Path):
    async with serving(settings_for(tmp_path, hello_timeout_s=0.05)) as running:
        assert (await closing(running, None))[0] == 4502


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_foreign_page_is_refused_before_the_socket_opens(running: Running, origin: str):
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with running.socket(origin=origin):
            pass
    assert refused.value.response.status_code == 403


async def test_the_services_own_page_is_let_in(running: Running):
    async with running.connect(origin=running.url) as chat:
        assert chat.seen[0]["type"] == "ready"


async def test_a_rebound_host_name_is_refused(running: Running):
    port = int(running.url.rsplit(":", 1)[1])
    with pytest.raises(websockets.InvalidStatus) as refused:
        await websockets.connect("ws://evil.example/api/v1/ws", host="127.0.0.1", port=port)
    assert refused.value.response.status_code == 403


async def test_with_a_token_configured_nobody_else_gets_in(tmp_path: Path):
    async with serving(settings_for(tmp_path, token=TOKEN)) as running:
        nobody = await closing(running, {"type": "hello", "id": "h"})
        wrong = await closing(running, {"type": "hello", "id": "h", "auth": {"token": "tg_wrong"}})
        header = {"Authorization": "Bearer wrong-one"}
        wrong_header = await closing(running, None, additional_headers=header)

    assert [nobody[0], wrong[0], wrong_header[0]] == [4501, 4501, 4501]


async def test_a_token_is_accepted_in_each_of_its_places(tmp_path: Path):
    encoded = base64.urlsafe_b64encode(TOKEN.encode()).decode().rstrip("=")
    async with serving(settings_for(tmp_path, token=TOKEN)) as running:
        for options in (
            {"hello": {"auth": {"token": TOKEN}}},
            {"additional_headers": {"Authorization": f"Bearer {TOKEN}"}},
            {"subprotocols": ["tollgate.v1", f"tollgate.bearer.{encoded}"]},
        ):
            async with running.connect(**options) as chat:
                assert chat.seen[0]["user_id"] == "admin"


async def test_a_ticket_works_once(tmp_path: Path):
    async with serving(settings_for(tmp_path, token=TOKEN)) as running:
        principal = await running.service.authenticator.authenticate(TOKEN)
        ticket = running.service.ws_tickets.issue(principal)
        async with running.connect(hello={"auth": {"ticket": ticket}}) as chat:
            assert chat.seen[0]["user_id"] == "admin"
        again = await closing(running, {"type": "hello", "id": "h", "auth": {"ticket": ticket}})

    assert again[0] == 4501


async def test_a_revoked_token_ends_its_connections(tmp_path: Path):
    async with serving(settings_for(tmp_path, token=TOKEN, heartbeat_s=0.05)) as running:
        secret, token = await running.service.tokens.create("dashboard", ("chat",))
        async with running.connect(hello={"auth": {"token": secret}}) as chat:
            await running.service.tokens.revoke(token.id)
            with pytest.raises(websockets.ConnectionClosedError) as closed:
                await chat.until("never")

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4506


async def test_a_user_has_a_bounded_number_of_connections(tmp_path: Path):
    async with (
        serving(settings_for(tmp_path, max_connections=1)) as running,
        running.connect(),
    ):
        assert (await closing(running, {"type": "hello", "id": "h"}))[0] == 4505
