import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from app.cli.client import Event, WsClient
from app.cli.service_errors import CommandRefused, ConnectionFailed
from tests.support.service import Running, serving, settings_for

SLOW = "for i in 1 2 3; do echo $i; sleep 0.2; done"


@pytest.fixture
async def running(tmp_path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path)) as service:
        yield service


async def until(client: WsClient, when: Callable[[Event], bool]) -> list[Event]:
    """Events up to the first that satisfies `when`."""
    seen = []
    async with asyncio.timeout(60):
        async for event in client.events():
            seen.append(event)
            if when(event):
                return seen
    raise AssertionError


def is_end(event: Event) -> bool:
    return str(event["type"]) == "run_finished"


def seqs(events: list[Event]) -> list[int]:
    return [event["seq"] for event in events if "seq" in event]


async def test_a_command_is_answered_and_its_events_arrive(running):
    session = running.session()
    async with WsClient(running.url) as client:
        await client.subscribe(session.id)
        ack = await client.command(
            "tool_call", session_id=session.id, name="calculator", arguments={"expression": "6*7"}
        )
        events = await until(client, is_end)
    assert {event["run_id"] for event in events if "run_id" in event} == {ack["run_id"]}
    assert seqs(events) == list(range(1, len(seqs(events)) + 1))
    assert client.ready["server"].startswith("tollgate/")


async def test_a_lost_connection_loses_and_doubles_nothing(running):
    session = running.session()
    states: list[str] = []
    client = WsClient(running.url, on_state=lambda state, _: states.append(state))
    async with client, WsClient(running.url) as witness:
        await client.subscribe(session.id)
        await witness.subscribe(session.id)
        await client.command(
            "tool_call", session_id=session.id, name="bash", arguments={"command": SLOW}
        )
        seen = await until(client, lambda event: event["type"] == "tool_result_streamed")
        await client.drop()
        seen += await until(client, is_end)
        expected = await until(witness, is_end)
    facts = [event for event in seen if "seq" in event]
    assert facts == [event for event in expected if "seq" in event]
    assert states[:3] == ["connected", "lost", "connected"]


async def test_a_position_that_is_gone_is_reported(running):
    session = running.session()
    async with WsClient(running.url) as client:
        answer = await client.subscribe(session.id, after=99)
    assert answer["recovered"] is False
    assert client.positions[session.id].seq == answer["head"]


async def test_a_refused_command_carries_what_the_server_said(running):
    async with WsClient(running.url) as client:
        with pytest.raises(CommandRefused, match="not found") as refused:
            await client.subscribe("ses_none")
        assert refused.value.error["code"] == "not_found"
        assert client.positions == {}


async def test_an_address_where_nobody_answers_is_reported_at_once(running):
    with pytest.raises(ConnectionFailed):
        await WsClient("http://127.0.0.1:9").connect()


async def test_a_wrong_token_is_final(tmp_path):
    async with serving(settings_for(tmp_path, token="right")) as running:
        with pytest.raises(ConnectionFailed, match="4501"):
            await WsClient(running.url, "wrong").connect()
        async with WsClient(running.url, "right") as client:
            assert client.ready["user_id"] == "admin"


async def test_a_client_that_leaves_ends_what_waits(running):
    client = WsClient(running.url)
    await client.connect()
    waiting = asyncio.create_task(until(client, is_end))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(ConnectionFailed):
        await waiting
    with pytest.raises(ConnectionFailed):
        await client.command("ping")
