"""A client that stops half-way is answered and let go, and others of its address get in."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import IO

import pytest

from app.config.server import ServingSettings
from tests.support.raw_clients import (
    HALF_BODY,
    HEALTH,
    PATIENCE_S,
    RawClient,
    ask_for_ever,
    first_refusal,
    raw_client,
    request,
    send_slowly,
)
from tests.support.service import Running, serving, settings_for

SHORT_S = 0.2
HALF = "GET /api"
UPGRADE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}",
)


def impatient(folder: Path, **overrides: float):
    """Settings with deadlines that a test need not wait for."""
    wanted = {"header_timeout_s": SHORT_S, "body_timeout_s": SHORT_S, "write_timeout_s": SHORT_S}
    return settings_for(folder, serving=ServingSettings.model_validate(wanted | overrides))


@pytest.mark.parametrize(
    "half",
    [
        "GET /api/v1/heal",
        "GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: a",
        request("/api/v1/ws", *UPGRADE).removesuffix("\r\n"),
        request("/api/v1/desktop/ws", *UPGRADE[:2]).removesuffix("\r\n"),
    ],
    ids=["request line", "header", "WebSocket handshake", "operator's handshake"],
)
async def test_half_a_head_is_answered_with_a_timeout_and_closed(tmp_path: Path, half: str):
    async with serving(impatient(tmp_path)) as running, raw_client(running.url) as client:
        await client.send(half)
        answer = await client.answer()
        assert (answer.status, answer.problem["code"]) == (408, "request_timeout")
        assert answer.problem["retryable"]
        assert await client.end() == b""


async def test_a_connection_that_says_nothing_is_closed_without_a_word(tmp_path: Path):
    async with serving(impatient(tmp_path)) as running, raw_client(running.url) as client:
        assert await client.end() == b""


async def test_a_head_that_comes_byte_by_byte_has_one_deadline(tmp_path: Path):
    async with serving(impatient(tmp_path)) as running, raw_client(running.url) as client:
        begun = "GET /api/v1/health HTTP/1.1\r\nX-Slow: "
        trickle = asyncio.create_task(send_slowly(client, begun, SHORT_S / 20))
        try:
            assert (await client.answer()).status == 408
        finally:
            trickle.cancel()


@pytest.mark.parametrize("path", ["/api/v1/login", "/api/v1/sessions", "/api/v1/hooks/x"])
async def test_half_a_body_is_answered_with_a_timeout_and_closed(tmp_path: Path, path: str):
    head = request(path, "Content-Type: application/json", "Content-Length: 100", method="POST")
    async with serving(impatient(tmp_path)) as running, raw_client(running.url) as client:
        await client.send(head + '{"token":')
        answer = await client.answer()
        if path.startswith("/api/v1/hooks"):
            assert answer.status == 401  # it has no signature, so its body is not waited for
        else:
            assert (answer.status, answer.problem["code"]) == (408, "request_timeout")
        assert await client.end() == b""


async def test_an_idle_connection_ends_after_its_time(tmp_path: Path):
    settings = impatient(tmp_path, idle_timeout_s=SHORT_S)
    async with serving(settings) as running, raw_client(running.url) as client:
        await client.send(HEALTH)
        assert (await client.answer()).status == 200
        assert await client.end() == b""


@pytest.mark.parametrize("last", ["", "GET /api/v1/h"], ids=["nothing", "half a request"])
async def test_a_body_that_comes_behind_its_answer_leaves_no_connection_without_end(
    tmp_path: Path, last: str
):
    settings = impatient(tmp_path, idle_timeout_s=SHORT_S)
    early = request("/api/v1/sessions", "Content-Length: 9", method="POST", host="example.com")
    async with serving(settings) as running, raw_client(running.url) as client:
        await client.send(early)
        assert (await client.answer()).status == 403
        await client.send("123456789" + last)
        if last:
            assert (await client.answer()).status == 408
        assert await client.end() == b""


async def test_who_sent_a_body_behind_its_answer_makes_room_for_who_asks(tmp_path: Path):
    settings = settings_for(tmp_path, serving=ServingSettings(connections_per_address=2))
    early = request("/api/v1/sessions", "Content-Length: 9", method="POST", host="example.com")
    async with serving(settings) as running, AsyncExitStack() as stack:
        waiting = [await stack.enter_async_context(raw_client(running.url)) for _ in range(2)]
        for client in waiting:
            await client.send(early)
            assert (await client.answer()).status == 403
            await client.send("123456789")
        ended = asyncio.create_task(waiting[0].end())
        while not ended.done():
            async with raw_client(running.url) as client:
                await client.send(request("/api/v1/health", host="example.com"))
                assert (await client.answer()).status == 403
        assert await ended == b""


@asynccontextmanager
async def _call_under_way(running: Running) -> AsyncIterator[tuple[RawClient, IO[str]]]:
    """A client whose call waits, and what lets the call end when it is closed."""
    gate = running.service.settings.workspace_dir / "gate"
    os.mkfifo(gate)
    body = json.dumps({"arguments": {"command": "cat gate"}})
    lines = "Content-Type: application/json", f"Content-Length: {len(body)}"
    async with raw_client(running.url) as client:
        await client.send(request("/api/v1/tools/bash/call", *lines, method="POST") + body)
        with await asyncio.to_thread(gate.open, "w") as held:
            yield client, held


async def test_half_a_head_behind_a_request_has_its_deadline_when_that_is_answered(tmp_path: Path):
    async with serving(impatient(tmp_path)) as running, _call_under_way(running) as (client, held):
        await client.send(HALF)
        async with raw_client(running.url) as later:
            await later.send(HALF)
            assert (await later.answer()).status == 408
        held.close()
        assert [(await client.answer()).status for _ in range(2)] == [200, 408]
        assert await client.end() == b""


@pytest.mark.parametrize(
    "second", ["no HTTP\r\n\r\n", "GET / HTTP/1.1\r\nX-Long: " + "a" * (1 << 20)]
)
async def test_what_cannot_be_read_is_not_answered_in_place_of_the_request_before(
    tmp_path: Path, second: str
):
    async with serving(settings_for(tmp_path)) as running, _call_under_way(running) as (client, _):
        await client.send(second)
        assert await client.end() == b""


async def test_half_a_second_request_on_a_kept_connection_has_the_same_deadline(tmp_path: Path):
    async with serving(impatient(tmp_path)) as running, raw_client(running.url) as client:
        await client.send(HEALTH)
        assert (await client.answer()).status == 200
        await client.send("GET /api")
        assert (await client.answer()).status == 408


async def test_a_client_that_leaves_its_answers_unread_is_closed(tmp_path: Path):
    async with serving(impatient(tmp_path)) as running, raw_client(running.url) as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(ConnectionError):
                await ask_for_ever(client, request("/api/v1/openapi.json"))


async def test_endless_headers_are_refused_before_they_fill_the_memory(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, raw_client(running.url) as client:
        await client.send("GET /api/v1/health HTTP/1.1\r\nX-Long: " + "a" * (80 << 10))
        answer = await client.answer()
        assert (answer.status, answer.problem["code"]) == (431, "headers_too_large")


async def test_what_is_no_http_is_reported_as_a_problem(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, raw_client(running.url) as client:
        await client.send("\x16\x03\x01 hello\r\n\r\n")
        answer = await client.answer()
        assert (answer.status, answer.problem["code"]) == (400, "bad_frame")


HALF_LOGIN = request("/api/v1/login", *HALF_BODY, method="POST")


async def _hold(
    stack: AsyncExitStack, running: Running, count: int, source: str, text: str = HALF
) -> None:
    for _ in range(count):
        client = await stack.enter_async_context(raw_client(running.url, source=source))
        await client.send(text)


async def test_an_address_that_holds_its_share_is_refused_and_others_are_not(tmp_path: Path):
    settings = settings_for(tmp_path, serving=ServingSettings(connections_per_address=4))
    async with serving(settings) as running, AsyncExitStack() as stack:
        await _hold(stack, running, 4, "127.0.0.2", HALF_LOGIN)
        answer = await first_refusal(running.url, request("/api/v1/me"), source="127.0.0.2")
        assert answer.problem["code"] == "overloaded"
        assert int(answer.headers["retry-after"]) >= 1
        async with raw_client(running.url, source="127.0.0.2") as client:
            await client.send(HEALTH)
            answer = await client.answer()
            assert (answer.status, answer.headers["connection"]) == (200, "close")
        async with raw_client(running.url, source="127.0.0.3") as client:
            await client.send(request("/api/v1/me"))
            assert (await client.answer()).status == 200


async def test_who_has_signed_in_is_no_part_of_the_share(tmp_path: Path):
    settings = settings_for(tmp_path, serving=ServingSettings(connections_per_address=2))
    async with serving(settings) as running, AsyncExitStack() as stack:
        for _ in range(6):
            client = await stack.enter_async_context(raw_client(running.url))
            await client.send(request("/api/v1/me"))
            assert (await client.answer()).status == 200
        async with running.connect(), running.connect(), running.connect() as chat:
            assert (await chat.command(type="ping"))["type"] == "ack"


async def test_who_has_waited_longest_makes_room_for_who_asks(tmp_path: Path):
    settings = settings_for(tmp_path, serving=ServingSettings(connections_per_address=2))
    async with serving(settings) as running, AsyncExitStack() as stack:
        waiting = await stack.enter_async_context(raw_client(running.url, source="127.0.0.2"))
        await waiting.send(HALF)
        await _hold(stack, running, 1, "127.0.0.2", HALF_LOGIN)
        ended = asyncio.create_task(waiting.end())
        while not ended.done():
            async with raw_client(running.url, source="127.0.0.2") as client:
                await client.send(request("/api/v1/me"))
                assert (await client.answer()).status == 200
        assert await ended == b""


async def test_a_crowd_that_comes_at_once_is_let_in_whole(tmp_path: Path):
    settings = settings_for(tmp_path, serving=ServingSettings(connections_per_address=2))
    async with serving(settings) as running, AsyncExitStack() as stack:
        crowd = [await stack.enter_async_context(raw_client(running.url)) for _ in range(20)]
        await asyncio.gather(*(client.send(request("/api/v1/me")) for client in crowd))
        assert [(await client.answer()).status for client in crowd] == [200] * 20
        async with running.connect() as chat:
            assert (await chat.command(type="ping"))["type"] == "ack"


@pytest.mark.parametrize("text", [HALF_LOGIN, request("/api/v1/ws", *UPGRADE)])
async def test_a_crowd_that_does_not_go_on_is_brought_down_to_its_share(tmp_path: Path, text: str):
    few = ServingSettings(connections_per_address=3)
    settings = settings_for(tmp_path, serving=few, hello_timeout_s=PATIENCE_S)
    async with serving(settings) as running, AsyncExitStack() as stack:
        crowd = [await stack.enter_async_context(raw_client(running.url)) for _ in range(20)]
        await asyncio.gather(*(client.send(text) for client in crowd))
        async with running.connect() as chat:
            ends = [asyncio.create_task(client.end()) for client in crowd]
            for ended in asyncio.as_completed(ends[3:]):
                got = await ended
                assert text is not HALF_LOGIN or got.startswith(b"HTTP/1.1 503")
            assert not any(ended.done() for ended in ends[:3])
            assert (await chat.command(type="ping"))["type"] == "ack"
            for ended in ends[:3]:
                ended.cancel()


async def test_a_websocket_past_the_share_is_refused_before_its_handshake(tmp_path: Path):
    settings = settings_for(tmp_path, serving=ServingSettings(connections_per_address=1))
    async with serving(settings) as running, AsyncExitStack() as stack:
        await _hold(stack, running, 1, "127.0.0.2", HALF_LOGIN)
        await first_refusal(running.url, request("/api/v1/me"), source="127.0.0.2")
        async with raw_client(running.url, source="127.0.0.2") as client:
            await client.send(request("/api/v1/ws", *UPGRADE))
            answer = await client.answer()
            assert (answer.status, answer.problem["code"]) == (503, "overloaded")
