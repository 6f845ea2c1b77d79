"""A server is killed, or stopped, while a person is asked; the next one takes the answer."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import websockets

from tests.cli.program import PATIENCE_S
from tests.cli.test_serve import started
from tests.support.service import Chat, Message

TOKEN = "a-token-for-this-test-0123456789"
HEADERS = {"authorization": f"Bearer {TOKEN}"}


def rest(url: str, path: str, body: Message | None = None) -> Any:
    request = urllib.request.Request(
        f"{url}/api/v1{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={**HEADERS, "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def socket(url: str) -> websockets.connect:
    return websockets.connect(
        url.replace("http", "ws", 1) + "/api/v1/ws",
        subprotocols=[websockets.Subprotocol("tollgate.v1")],
        additional_headers=HEADERS,
        max_size=None,
    )


async def watch(chat: Chat, session_id: str) -> Message:
    await chat.send({"type": "hello", "id": "hello"})
    await chat.until("ack")
    return await chat.command(type="subscribe", session_id=session_id, after=0)


@pytest.mark.requirement("CNF-02", "D-4")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_question_outlives_its_server_and_is_answered_at_the_next_one(
    installation: Path, number: signal.Signals
):
    trace = f"ran-{number.name}"
    with started(installation, TOLLGATE_TOKEN=TOKEN) as (process, facts):
        session_id = rest(facts["url"], "/sessions", {})["id"]
        async with socket(facts["url"]) as connection:
            chat = Chat(connection)
            await watch(chat, session_id)
            await chat.command(
                type="tool_call",
                session_id=session_id,
                name="bash",
                arguments={"command": f"rm -f nothing; echo x >> {trace}"},
            )
            asked = await chat.until("tool_confirmation_request")
            process.send_signal(number)
            process.wait(timeout=PATIENCE_S)
    with started(installation, TOLLGATE_TOKEN=TOKEN) as (_, facts):
        open_now = rest(facts["url"], "/confirmations?state=pending")["confirmations"]
        assert [item["confirmation_id"] for item in open_now] == [asked["confirmation_id"]]
        async with socket(facts["url"]) as connection:
            chat = Chat(connection)
            subscribed = await watch(chat, session_id)
            (pending,) = subscribed["pending_confirmations"]
            assert pending["confirmation_id"] == asked["confirmation_id"]
            assert pending["digest"] == asked["digest"]
            assert await chat.until("tool_confirmation_request") == asked
            answer = await chat.command(
                type="tool_confirmation_response",
                session_id=session_id,
                confirmation_id=pending["confirmation_id"],
                option_id="approve_once",
                digest=pending["digest"],
            )
            assert answer["result"] == {"outcome": "approved"}
            ended = await chat.until("run_finished")
            again = await chat.command(
                type="tool_confirmation_response",
                session_id=session_id,
                confirmation_id=pending["confirmation_id"],
                option_id="approve_once",
                digest=pending["digest"],
            )
        assert ended["status"] == "success"
        assert again["error"]["code"] == "confirmation_already_resolved"
        kinds = [event["type"] for event in chat.durable()]
        assert kinds.count("tool_confirmation_request") == 1
        assert kinds.count("tool_call_completed") == 1
    assert (installation / "workspace" / trace).read_text(encoding="utf-8") == "x\n"
