"""Questions and tickets over REST."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.governance.limits import QuotaSubject
from tests.api.people import WORK, user
from tests.execution.lab import Watcher
from tests.support.http import HttpClient
from tests.support.service import Running

ASK = {"question": "Which?", "choices": ["red", "blue"]}


def data_of(answer: httpx2.Response) -> Any:
    """What the tool gave back."""
    return json.loads(answer.json()["record"]["result"])["data"]


async def watched(serving: Running, **fields: Any) -> tuple[str, Watcher]:
    session = serving.session(**fields)
    watcher = Watcher()
    session.log.subscribers.add(watcher)
    return session.id, watcher


@pytest.mark.requirement("INT-01")
async def test_a_call_blocks_until_somebody_answers(serving: Running):
    session_id, watcher = await watched(serving)
    async with HttpClient(base_url=serving.api) as client:
        call = asyncio.create_task(
            client.post("/tools/ask_user/call", json={"arguments": ASK, "session_id": session_id})
        )
        asked = await watcher.until("question_asked")
        place = f"/sessions/{session_id}/questions"
        (listed,) = (await client.get(place)).json()["questions"]
        assert listed["question_id"] == asked["question_id"]
        snapshot = (await client.get(f"/sessions/{session_id}/snapshot")).json()
        assert snapshot["pending_questions"] == [listed]
        path = f"{place}/{asked['question_id']}/answer"
        refused = await client.post(path, json={"answer": ["green"]})
        assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed")
        taken = await client.post(path, json={"answer": "choice_2"})
        assert taken.json() == {
            "question_id": asked["question_id"],
            "outcome": "answered",
            "repeat": False,
            "run_id": None,
            "message_id": None,
        }
        assert data_of(await call)["user_response"] == "blue"
        again = await client.post(path, json={"answer": "choice_2"})
        assert again.json()["repeat"] is True
        other = await client.post(path, json={"answer": "red"})
        assert (other.status_code, other.json()["code"]) == (409, "question_already_answered")
        assert (await client.get(place)).json() == {"questions": []}


async def test_a_call_in_a_session_that_nobody_watches_fails_at_once(serving: Running):
    async with HttpClient(base_url=serving.api) as client:
        answer = (await client.post("/tools/ask_user/call", json={"arguments": ASK})).json()
    assert answer["record"]["status"] == "error"
    assert "No one is available to answer" in answer["record"]["result"]


async def test_others_neither_see_nor_answer_a_question(serving: Running):
    session_id, watcher = await watched(serving, user_id="ann")
    run = serving.service.runs
    session = await serving.service.sessions.get(session_id)
    assert session is not None
    made = await run.call_tools(session, [CallRequest("c1", "ask_user", ASK)], caller="websocket")
    asked = await watcher.until("question_asked")
    path = f"/sessions/{session_id}/questions/{asked['question_id']}/answer"
    async with user(serving, "bob") as bob, user(serving, "ann") as ann:
        assert (await bob.get(f"/sessions/{session_id}/questions")).status_code == 404
        assert (await bob.post(path, json={"answer": "red"})).status_code == 404
        assert (await ann.post(path, json={"answer": "x" * 20_000})).status_code == 422
        assert (await ann.post(path, json={"answer": "red", "by": "boss"})).status_code == 422
        assert (await ann.post(path, json={"answer": "red"})).status_code == 200
    await made.done


@pytest.mark.requirement("INT-01")
async def test_an_operator_sees_a_ticket_and_answers_the_call_that_waits(serving: Running):
    session_id, watcher = await watched(serving)
    body = {
        "arguments": {"reason": "Pay?", "severity": "high", "blocking": True},
        "session_id": session_id,
    }
    async with HttpClient(base_url=serving.api) as client:
        call = asyncio.create_task(client.post("/tools/escalate/call", json=body))
        opened = await watcher.until("ticket_opened")
        page = (await client.get("/admin/tickets", params={"status": "open"})).json()
        (ticket,) = page["tickets"]
        assert (ticket["id"], ticket["reason"]) == (opened["ticket_id"], "Pay?")
        one = await client.get(f"/admin/tickets/{ticket['id']}")
        path = f"/admin/tickets/{ticket['id']}/answer"
        stale = await client.post(path, json={"answer": "No"}, headers={"If-Match": '"9"'})
        assert stale.status_code == 412
        tag = {"If-Match": one.headers["etag"]}
        answered = await client.post(path, json={"answer": "Pay it"}, headers=tag)
        assert answered.status_code == 200
        assert (answered.json()["status"], answered.json()["notified_run_id"]) == ("answered", None)
        assert answered.headers["etag"] == '"2"'
        assert data_of(await call)["answer"] == "Pay it"
        twice = await client.post(path, json={"answer": "Pay it"})
        assert (twice.status_code, twice.json()["code"]) == (409, "conflict")
        missing = await client.post("/admin/tickets/tkt_none/close")
        assert missing.status_code == 404


async def test_only_administrators_see_tickets(serving: Running):
    session_id, _ = await watched(serving, user_id="ann")
    async with user(serving, "ann") as ann:
        body = {"arguments": {"reason": "Pay?"}, "session_id": session_id}
        made = await ann.post("/tools/escalate/call", json=body)
        ticket_id = data_of(made)["ticket_id"]
        for answer in (
            await ann.get("/admin/tickets"),
            await ann.get(f"/admin/tickets/{ticket_id}"),
            await ann.post(f"/admin/tickets/{ticket_id}/answer", json={"answer": "Yes"}),
            await ann.post(f"/admin/tickets/{ticket_id}/close"),
        ):
            assert answer.status_code == 403
    async with user(serving, "boss", "admin") as operator:
        closed = await operator.post(f"/admin/tickets/{ticket_id}/close")
        assert closed.json()["status"] == "closed"


async def _agents_ticket(serving: Running, session_id: str, token_id: str) -> str:
    """A ticket that an agent opened on behalf of a token; its id."""
    session = await serving.service.sessions.get(session_id)
    assert session is not None
    context = CallContext(
        log=session.log, user_id="ann", quota_subject=QuotaSubject(token_id), caller="agent"
    )
    request = CallRequest("c1", "escalate", {"reason": f"Pay for {session_id}?"})
    (outcome,) = await serving.service.executor.run([request], context)
    assert outcome.success, outcome.result.error
    return str(outcome.result.data["ticket_id"])


async def test_an_answered_ticket_is_counted_for_the_token_that_opened_it(serving: Running):
    tokens = serving.service.tokens
    _, token = await tokens.create("laptop", WORK)
    first, second = (serving.session(user_id="ann").id for _ in range(2))
    held = await _agents_ticket(serving, first, token.id)
    gone = await _agents_ticket(serving, second, token.id)
    async with user(serving, "root", "admin") as root:
        reported = (await root.post(f"/admin/tickets/{held}/answer", json={"answer": "Yes"})).json()
        await tokens.revoke("laptop")
        late = (await root.post(f"/admin/tickets/{gone}/answer", json={"answer": "Yes"})).json()
    assert (reported["notified_run_id"] is None, reported.get("not_told")) == (False, None)
    # The old name of the field, until 0.4.
    assert reported["told_in_run"] == reported["notified_run_id"]
    assert (late["status"], late["notified_run_id"]) == ("answered", None)
    assert late["not_told"] == "The token that opened the ticket is no longer valid"
