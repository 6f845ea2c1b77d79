"""Bad input: a typed error, and the connection lives on unless the protocol says otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
import websockets

from tests.support.service import Chat, Running

BAD = [
    ("nonsense{", "bad_frame"),
    ("[1, 2]", "bad_frame"),
    ('{"type": "ping", "id": "x", "deep": ' + "[" * 100 + "]" * 100 + "}", "bad_frame"),
    ('"text"', "bad_frame"),
    ('{"id": "x"}', "unknown_type"),
    ('{"type": "launch", "id": "x"}', "unknown_type"),
    ('{"type": ["ping"], "id": "x"}', "unknown_type"),
    ('{"type": "ping"}', "validation_failed"),
    ('{"type": "ping", "id": "has space"}', "validation_failed"),
    ('{"type": "ping", "id": "x", "extra": 1}', "validation_failed"),
    ('{"type": "ping", "id": "x", "v": 2}', "validation_failed"),
    ('{"type": "subscribe", "id": "x", "session_id": "s", "after": "1"}', "validation_failed"),
    ('{"type": "tool_call", "id": "x", "session_id": "s"}', "validation_failed"),
    ('{"type": "user_message", "id": "x", "session_id": "s", "content": 1}', "validation_failed"),
]


async def _error(chat: Chat, frame: str | bytes) -> dict[str, Any]:
    await chat.socket.send(frame)
    error: dict[str, Any] = (await chat.until("error"))["error"]
    return error


@pytest.mark.parametrize(("frame", "code"), BAD)
async def test_a_bad_frame_gets_its_error_and_the_next_one_its_answer(
    running: Running, frame: str, code: str
):
    async with running.connect() as chat:
        error = await _error(chat, frame)
        pong = await chat.command(type="ping")

    assert error["code"] == code
    assert pong["type"] == "ack"


async def test_a_binary_frame_is_refused(running: Running):
    async with running.connect() as chat:
        assert (await _error(chat, b"\x00\x01"))["code"] == "bad_frame"


async def test_every_problem_is_named_at_once(running: Running):
    command = {"type": "subscribe", "id": "x", "after": -1, "ephemerals": "yes", "zzz": 1}

    async with running.connect() as chat:
        error = await _error(chat, json.dumps(command))

    paths = sorted(item["path"] for item in error["details"]["errors"])
    assert paths == ["after", "ephemerals", "session_id", "zzz"]


async def test_a_value_below_its_limit_is_shown_the_limit(running: Running):
    command = {"type": "subscribe", "id": "x", "session_id": "ses_1", "after": -1}

    async with running.connect() as chat:
        error = await _error(chat, json.dumps(command))

    assert error["details"]["errors"] == [
        {
            "path": "after",
            "message": "Input should be greater than or equal to 0",
            "code": "greater_than_equal",
            "values": {"ge": 0},
        }
    ]


async def test_a_frame_over_the_limit_closes_with_1009(running: Running):
    async with running.connect() as chat:
        await chat.socket.send("x" * (1 << 20) + "y")
        with pytest.raises(websockets.ConnectionClosedError) as closed:
            await chat.until("never")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


async def test_a_client_that_sends_only_nonsense_is_cut_off(running: Running):
    async with running.connect() as chat:
        for _ in range(20):
            await chat.socket.send("nonsense")
        with pytest.raises(websockets.ConnectionClosedError) as closed:
            await chat.until("never")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4500


async def test_an_unknown_session_is_not_found(running: Running):
    async with running.connect() as chat:
        for fields in (
            {"type": "subscribe"},
            {"type": "user_message", "content": "hi"},
            {"type": "tool_call", "name": "calculator", "arguments": {"expression": "1"}},
            {"type": "cancel", "target": "run", "target_id": "run_1"},
        ):
            answer = await chat.command(session_id="ses_nowhere", **fields)
            assert answer["error"]["code"] == "not_found"


async def test_commands_over_the_rate_are_shown_when_to_come_back(running: Running):
    async with running.connect() as chat:
        for index in range(80):
            await chat.send({"type": "ping", "id": f"p{index}"})
        error = (await chat.until("error"))["error"]

    assert error["code"] == "rate_limited"
    assert error["retryable"] is True
    assert error["retry_after_ms"] > 0


async def test_an_empty_message_and_a_foreign_block_are_refused(running: Running):
    session = running.session()
    async with running.connect() as chat:
        for content in (" ", [], [{"type": "tool_result"}], [{"type": "image", "source": "x"}]):
            answer = await chat.command(type="user_message", session_id=session.id, content=content)
            assert answer["error"]["code"] == "validation_failed"


async def test_a_question_nobody_asked_cannot_be_answered(running: Running):
    session = running.session()
    async with running.connect() as chat:
        answer = await chat.command(
            type="question_response",
            session_id=session.id,
            question_id="q1",
            outcome="answered",
            answer="x",
        )
    assert answer["error"]["code"] == "not_found"


async def test_mistakes_with_good_commands_between_them_cut_nobody_off(running: Running):
    async with running.connect() as chat:
        for _ in range(25):
            assert (await _error(chat, "nonsense"))["code"] == "bad_frame"
            assert (await chat.command(type="ping"))["type"] == "ack"
