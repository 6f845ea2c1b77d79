"""The operators' WebSocket: who gets in, what they are given, and what they cannot do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import websockets
from websockets.exceptions import ConnectionClosed

from app.api.ws.desktop_commands import MAX_FRAME_CHARS
from app.channels.task_rows import TaskFilter
from app.config.channels import ChannelSettings
from app.config.settings import Settings
from app.execution.calls import CallRequest
from tests.channels.operator_lab import APPS, GROUP, channel
from tests.support.service import PATIENCE_S, Running, serving, settings_for

Frame = dict[str, Any]
CLAIM = {"task_id": "dtk_" + "0" * 24, "claim_id": "clm_" + "0" * 24}


class Desk:
    """An operator's end of a connection."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.hints = 0
        self._count = 0

    async def receive(self) -> Frame:
        async with asyncio.timeout(PATIENCE_S):
            frame: Frame = json.loads(await self.socket.recv())
        self.hints += frame["type"] == "task_available"
        return frame

    async def command(self, kind: str, **fields: Any) -> Frame:
        """The one answer to a command."""
        self._count += 1
        await self.socket.send(json.dumps({"type": kind, "id": f"c{self._count}", **fields}))
        while True:
            frame = await self.receive()
            if frame.get("ref") == f"c{self._count}":
                return frame

    async def hint(self) -> None:
        """Wait until there may be something to claim."""
        while not self.hints:
            await self.receive()
        self.hints = 0

    async def closed(self) -> int:
        """The code that the server closes with."""
        try:
            while True:
                await self.receive()
        except ConnectionClosed as ended:
            return 0 if ended.rcvd is None else ended.rcvd.code


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    settings: Settings = settings_for(
        tmp_path,
        anthropic_api_key=None,
        hello_timeout_s=5,
        channels=ChannelSettings(wait_s=20, max_operators=2, lease_s=30),
    )
    async with serving(settings) as found:
        await channel(found.service.channels)
        yield found


async def token(running: Running, *scopes: str, name: str = "deb") -> str:
    return (await running.service.tokens.create(name, scopes or ("desktop",)))[0]


@asynccontextmanager
async def socket(running: Running, secret: str | None, **options: Any) -> AsyncIterator[Desk]:
    """A connection that has said nothing yet."""
    url = running.url.replace("http", "ws", 1) + "/api/v1/desktop/ws"
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    async with websockets.connect(
        url, additional_headers=headers, max_size=None, **options
    ) as opened:
        yield Desk(opened)


@asynccontextmanager
async def desk(running: Running, secret: str, name: str = "desk-1") -> AsyncIterator[Desk]:
    """An operator that is connected."""
    async with socket(running, secret) as found:
        answer = await found.command("hello", operator=name, apps=APPS)
        assert answer["type"] == "ack", answer
        yield found


def calling(running: Running) -> asyncio.Task[Any]:
    """A call of the tool, under way."""

    async def call() -> Any:
        session = running.session()
        request = {"text": "你好", "target": GROUP, "channel_id": "shop"}
        run = await running.service.runs.call_tools(
            session, [CallRequest("c1", "weixin_send_text", request)], caller="rest"
        )
        return await run.done

    return asyncio.create_task(call())


async def tasks(running: Running) -> list[Any]:
    page = running.service.channels.desktop.page
    return await page(TaskFilter(), limit=10, before=None)


async def held(operator: Desk) -> Frame:
    """The ids of a task that the operator has claimed."""
    await operator.hint()
    task = (await operator.command("claim"))["result"]["task"]
    return {"task_id": task["task_id"], "claim_id": task["claim_id"]}


async def test_an_operator_is_notified_of_a_task_takes_it_and_finishes_it(running: Running):
    async with desk(running, await token(running)) as operator:
        assert (await operator.command("claim"))["result"] == {"task": None}
        call = calling(running)
        await operator.hint()
        task = (await operator.command("claim"))["result"]["task"]
        assert (task["target"], task["text"]) == (GROUP, "你好\n[AI]")
        claim = {"task_id": task["task_id"], "claim_id": task["claim_id"]}
        for kind, fields in (
            ("start", {}),
            ("progress", {"stage": "pasting"}),
            ("complete", {"verified": True}),
        ):
            assert (await operator.command(kind, **claim, **fields))["type"] == "ack"
        await call
    [stored] = await tasks(running)
    assert (stored.status, stored.operator) == ("succeeded", "desk-1")


@pytest.mark.parametrize("scopes", [("chat",), ("tools:call", "approve"), ("audit:read",)])
async def test_other_scopes_do_not_let_in(running: Running, scopes: tuple[str, ...]):
    async with socket(running, await token(running, *scopes)) as operator:
        assert await operator.closed() == 4503


async def test_a_wrong_token_or_none_does_not_let_in(running: Running):
    await token(running)
    for secret in ("tg_wrong", None):
        async with socket(running, secret) as operator:
            assert await operator.closed() == 4501


async def test_a_page_of_somebody_else_does_not_get_in(running: Running):
    secret = await token(running)
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with socket(running, secret, origin="https://evil.example"):
            raise AssertionError("it was let in")
    assert refused.value.response.status_code == 403


async def test_a_token_that_is_revoked_ends_its_connection(running: Running):
    secret = await token(running)
    async with desk(running, secret) as operator:
        await running.service.tokens.revoke("deb")
        await operator.socket.send(json.dumps({"type": "claim", "id": "late"}))
        assert await operator.closed() == 4506


@pytest.mark.parametrize(
    "first",
    [
        {"type": "claim", "id": "1"},
        {"type": "hello", "id": "1", "operator": "../x", "apps": APPS},
        {"type": "hello", "id": "1", "operator": "x", "apps": []},
        {"type": "hello", "id": "1", "operator": "x", "apps": APPS, "admin": True},
        {"type": "subscribe", "id": "1", "session_id": "ses_1"},
        [],
    ],
)
async def test_whoever_does_not_say_who_it_is_must_go(running: Running, first: Any):
    async with socket(running, await token(running)) as operator:
        await operator.socket.send(json.dumps(first))
        assert await operator.closed() in (4500, 4507)


async def test_a_frame_that_is_too_large_closes_the_connection(running: Running):
    async with desk(running, await token(running)) as operator:
        await operator.socket.send(json.dumps({"type": "claim", "id": "x" * MAX_FRAME_CHARS}))
        assert await operator.closed() == 4500


async def test_nonsense_is_answered_for_a_while(running: Running):
    async with desk(running, await token(running)) as operator:
        for nonsense in ("{", "null", '{"type":"claim"}', '{"type":"complete","id":"x"}'):
            await operator.socket.send(nonsense)
            assert (await operator.receive())["error"]["code"] == "validation_failed"
        for _ in range(20):
            await operator.socket.send("{")
        assert await operator.closed() == 4500


async def test_a_flood_of_commands_is_refused_and_then_closed(running: Running):
    async with desk(running, await token(running)) as operator:
        for number in range(200):
            await operator.socket.send(json.dumps({"type": "heartbeat", "id": f"f{number}"}))
        assert await operator.closed() == 4006


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("start", {}),
        ("progress", {"stage": "x"}),
        ("complete", {"verified": True}),
        ("fail", {"code": "driver_failed"}),
        ("release", {}),
    ],
)
async def test_a_task_of_another_token_cannot_be_touched(
    running: Running, kind: str, fields: dict[str, Any]
):
    call = calling(running)
    async with (
        desk(running, await token(running)) as owner,
        desk(running, await token(running, name="eve"), "desk-2") as thief,
    ):
        claim = await held(owner)
        # Even with both ids, which only the owner was told.
        stolen = await thief.command(kind, **claim, **fields)
        made_up = await owner.command(kind, **CLAIM, **fields)
        assert [stolen["error"]["code"], made_up["error"]["code"]] == ["not_found", "not_found"]
        assert stolen["error"]["message"] == made_up["error"]["message"]
        [task] = await tasks(running)
        assert (task.status, task.operator) == ("claimed", "desk-1")
        await owner.command("start", **claim)
        await owner.command("complete", **claim)
    await call


async def test_a_result_cannot_be_sent_again_or_be_of_another_shape(running: Running):
    call = calling(running)
    async with desk(running, await token(running)) as operator:
        claim = await held(operator)
        await operator.command("start", **claim)
        for lie in (
            {"verified": "yes"},
            {"detail": "x" * 501},
            {"status": "succeeded"},
            {"result": {"a": 1}},
        ):
            answer = await operator.command("complete", **claim, **lie)
            assert answer["error"]["code"] == "validation_failed"
        assert (await operator.command("complete", **claim))["type"] == "ack"
        replayed = await operator.command("complete", **claim)
        assert replayed["error"]["code"] == "not_found"
    await call


async def test_a_lost_connection_gives_back_what_was_not_started(running: Running):
    call = calling(running)
    secret = await token(running)
    async with desk(running, secret) as lost:
        await held(lost)
        lost.socket.transport.abort()
    async with desk(running, secret, "desk-2") as operator:
        claim = await held(operator)
        await operator.command("start", **claim)
        await operator.command("complete", **claim)
    await call
    [task] = await tasks(running)
    assert (task.status, task.operator) == ("succeeded", "desk-2")


async def test_an_operator_that_has_started_may_come_again_and_say_how_it_ended(running: Running):
    call = calling(running)
    secret = await token(running)
    async with desk(running, secret) as lost:
        claim = await held(lost)
        await lost.command("start", **claim)
    async with desk(running, secret, "desk-2") as other:
        assert (await other.command("claim"))["result"] == {"task": None}
        assert (await other.command("complete", **claim))["type"] == "ack"
    await call
    assert [task.status for task in await tasks(running)] == ["succeeded"]


async def test_one_name_connects_once_and_a_token_so_many_times(running: Running):
    secret = await token(running)
    async with desk(running, secret, "a"), desk(running, secret, "b"):
        for name, code in (("a", "conflict"), ("c", "rate_limited")):
            async with socket(running, secret) as third:
                answer = await third.command("hello", operator=name, apps=APPS)
                assert answer["error"]["code"] == code
                assert await third.closed() == 4006
