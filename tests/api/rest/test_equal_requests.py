"""One answer covers many equal requests of a run, and each of them is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from app.execution.calls import CallRequest
from tests.api.people import user
from tests.api.rest.client import new_session
from tests.execution.lab import Watcher
from tests.support.service import Running

pytestmark = pytest.mark.requirement("FTG-6")

COUNT = 12


@pytest.fixture
async def ann(serving: Running) -> AsyncIterator[httpx2.AsyncClient]:
    async with user(serving, "ann", "chat", "tools:call", "approve") as client:
        yield client


async def ask_many(serving: Running, client: httpx2.AsyncClient) -> tuple[Watcher, list[Any]]:
    """Twelve deletions and another command in one batch; their requests by call."""
    session = await serving.service.sessions.get(await new_session(client))
    assert session is not None
    watcher = Watcher()
    session.log.subscribers.add(watcher)
    calls = [
        CallRequest(f"c{number}", "bash", {"command": f"rm -f gone{number}"})
        for number in range(COUNT)
    ]
    calls.append(CallRequest("push", "bash", {"command": "git push --force"}))
    await serving.service.runs.call_tools(session, calls, caller="websocket", cacheable=False)
    await watcher.until("tool_confirmation_request", COUNT + 1)
    asked = watcher.of("tool_confirmation_request")
    return watcher, sorted(asked, key=lambda event: event["tool_call_id"] == "push")


async def test_twelve_calls_take_one_answer_and_leave_twelve_audit_rows(
    serving: Running, ann: httpx2.AsyncClient
):
    watcher, asked = await ask_many(serving, ann)
    path = f"/confirmations/{asked[0]['confirmation_id']}"
    equal = (await ann.get(path)).json()["equal"]
    assert {item["confirmation_id"] for item in equal} == {
        event["confirmation_id"] for event in asked[1:COUNT]
    }
    body = {
        "option_id": "approve_once",
        "digest": asked[0]["digest"],
        "also": {item["confirmation_id"]: item["digest"] for item in equal},
    }
    answer = (await ann.post(path, json=body)).json()
    assert answer["outcome"] == "approved"
    assert set(answer["also"].values()) == {"approved"}
    await watcher.until("tool_call_completed", COUNT)
    rows = await serving.service.db.transact(
        lambda transaction: transaction.fetch(
            "SELECT actor, outcome FROM audit WHERE kind = 'confirmation.answered'"
        )
    )
    assert rows == [("ann", "approved")] * COUNT
    left = serving.service.confirmations.pending(asked[0]["session_id"])
    assert [item["title"] for item in left] == ["bash: git push --force"]


@pytest.mark.parametrize("case", ["unequal", "lasting", "edited"])
async def test_an_answer_covers_no_other_requests(
    serving: Running, ann: httpx2.AsyncClient, case: str
):
    _, asked = await ask_many(serving, ann)
    other = asked[-1] if case == "unequal" else asked[1]
    body: dict[str, Any] = {
        "option_id": "approve_session" if case == "lasting" else "approve_once",
        "digest": asked[0]["digest"],
        "also": {other["confirmation_id"]: other["digest"]},
    }
    if case == "edited":
        body["edited_args"] = {"command": "rm -f other"}
    answer = await ann.post(f"/confirmations/{asked[0]['confirmation_id']}", json=body)
    assert answer.status_code == 422
    assert len(serving.service.confirmations.pending(asked[0]["session_id"])) == COUNT + 1


async def test_each_request_is_answered_for_exactly_its_call(
    serving: Running, ann: httpx2.AsyncClient
):
    """A wrong digest, or an answer that came first, is reported for the one request."""
    _, asked = await ask_many(serving, ann)
    first, wrong, gone = asked[:3]
    decline = {"option_id": "decline", "digest": gone["digest"]}
    await ann.post(f"/confirmations/{gone['confirmation_id']}", json=decline)
    body = {
        "option_id": "approve_once",
        "digest": first["digest"],
        "also": {wrong["confirmation_id"]: "0" * 64, gone["confirmation_id"]: gone["digest"]},
    }
    answer = await ann.post(f"/confirmations/{first['confirmation_id']}", json=body)
    assert answer.json()["also"] == {
        wrong["confirmation_id"]: "digest_mismatch",
        gone["confirmation_id"]: "confirmation_already_resolved",
    }
    assert answer.json()["outcome"] == "approved"
