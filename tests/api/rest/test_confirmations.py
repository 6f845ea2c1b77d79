"""Confirmations over REST: found, read, answered, and lasting ones revoked."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.governance.agents import read_profile
from app.governance.limits import NOBODY, QuotaSubject
from tests.api.people import WORK, holding, user
from tests.api.rest.client import new_session
from tests.execution.lab import Watcher
from tests.support.service import Running

RM = {"command": "rm -f nothing"}


async def ask(
    serving: Running,
    client: httpx2.AsyncClient,
    call_id: str = "c1",
    *,
    quota_subject: QuotaSubject = NOBODY,
) -> dict[str, Any]:
    """Start a call that asks, in a new session of the client's; its question."""
    session = await serving.service.sessions.get(await new_session(client))
    assert session is not None
    watcher = Watcher()
    session.log.subscribers.add(watcher)
    await serving.service.runs.call_tools(
        session,
        [CallRequest(call_id, "bash", RM)],
        caller="websocket",
        cacheable=False,
        quota_subject=quota_subject,
    )
    return await watcher.until("tool_confirmation_request")


async def test_the_owner_finds_reads_and_answers_and_nobody_else(serving: Running):
    async with (
        user(serving, "ann") as ann,
        user(serving, "bob") as bob,
        user(serving, "root", "admin") as root,
    ):
        asked = await ask(serving, ann)
        path = f"/confirmations/{asked['confirmation_id']}"
        for client, sees in ((ann, True), (bob, False), (root, True)):
            found = (await client.get("/confirmations?state=pending")).json()["confirmations"]
            assert [item["confirmation_id"] for item in found] == (
                [asked["confirmation_id"]] if sees else []
            )
            assert (await client.get(path)).status_code == (200 if sees else 404)
        answer = {"option_id": "approve_once", "digest": asked["digest"]}
        assert (await bob.post(path, json=answer)).status_code == 404
        assert (await ann.post(path, json=answer)).json()["outcome"] == "approved"
        late = await root.post(path, json={**answer, "option_id": "decline"})
        assert late.status_code == 409
        assert late.json()["code"] == "confirmation_already_resolved"
        assert late.json()["details"] == {
            "confirmation_id": asked["confirmation_id"],
            "outcome": "approved",
            "by": "ann",
        }
        active = serving.service.runs.active(asked["session_id"])
        if active is not None:
            await active.done
        await serving.service.db.flush()
        detail = (await ann.get(path)).json()
        assert (detail["state"], detail["by"], detail["call_status"]) == (
            "approved",
            "ann",
            "success",
        )
        assert detail["used_at"] is not None


async def test_who_may_only_call_tools_cannot_answer(serving: Running):
    async with user(serving, "ann", "chat", "tools:call") as ann:
        asked = await ask(serving, ann)
        path = f"/confirmations/{asked['confirmation_id']}"
        answer = {"option_id": "approve_once", "digest": asked["digest"]}
        assert (await ann.post(path, json=answer)).status_code == 403
        assert (await ann.get("/confirmations")).status_code == 403
        assert serving.service.confirmations.pending(asked["session_id"])


async def test_only_an_administrator_approves_always_and_revokes(serving: Running):
    async with (
        user(serving, "ann") as ann,
        user(serving, "root", "admin") as root,
    ):
        asked = await ask(serving, ann)
        path = f"/confirmations/{asked['confirmation_id']}"
        always = {"option_id": "approve_always", "digest": asked["digest"]}
        refused = await ann.post(path, json=always)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert (await root.post(path, json=always)).status_code == 200
        assert (await ann.get("/admin/grants")).status_code == 403
        (grant,) = (await root.get("/admin/grants")).json()["grants"]
        assert (grant["scope"], grant["created_by"], grant["active"]) == ("always", "root", True)
        assert "rm -f nothing" in grant["covers"]
        revoked = await root.delete(f"/admin/grants/{grant['id']}")
        assert (revoked.json()["revoked_by"], revoked.json()["active"]) == ("root", False)
        assert (await root.delete("/admin/grants/grt_none")).status_code == 404
        again = await ask(serving, ann, "c2")
        assert again["confirmation_id"] != asked["confirmation_id"]


async def test_edited_arguments_go_with_the_answer(serving: Running):
    async with user(serving, "ann") as ann:
        asked = await ask(serving, ann)
        path = f"/confirmations/{asked['confirmation_id']}"
        answer = {"option_id": "approve_once", "digest": asked["digest"]}
        denied = await ann.post(path, json={**answer, "edited_args": {"command": "rm -rf /"}})
        assert denied.status_code == 422
        assert "Denied by policy" in denied.json()["detail"]
        edited = {**answer, "edited_args": {"command": "echo instead"}}
        assert (await ann.post(path, json=edited)).status_code == 200
        detail = (await ann.get(path)).json()
        assert detail["edited"] is True


async def test_who_may_only_approve_cannot_bring_arguments_of_their_own(serving: Running):
    async with user(serving, "ann") as ann, user(serving, "ann", "chat", "approve") as approver:
        asked = await ask(serving, ann)
        path = f"/confirmations/{asked['confirmation_id']}"
        answer = {"option_id": "approve_once", "digest": asked["digest"]}
        edited = {**answer, "edited_args": {"command": "echo instead"}}
        refused = await approver.post(path, json=edited)
        assert (refused.status_code, refused.json()["details"]["scope"]) == (403, "tools:call")
        assert (await approver.post(path, json=answer)).status_code == 200


async def test_revoking_a_token_ends_the_runs_it_started(serving: Running):
    secret, token = await serving.service.tokens.create("ann", WORK)
    async with holding(serving, secret) as ann, user(serving, "root", "admin") as root:
        asked = await ask(serving, ann, quota_subject=QuotaSubject(token_id=token.id))
        session_id = asked["session_id"]
        run = serving.service.runs.active(session_id)
        assert run is not None
        assert (await root.delete(f"/admin/tokens/{token.id}")).status_code == 200
        async with asyncio.timeout(60):
            assert await run.done == "cancelled"
        assert not serving.service.confirmations.pending(session_id)


async def test_questions_are_listed_page_by_page(serving: Running):
    async with user(serving, "ann") as ann:
        asked = [await ask(serving, ann, f"c{number}") for number in range(3)]
        first = (await ann.get("/confirmations?limit=2")).json()
        rest = (await ann.get(f"/confirmations?limit=2&before={first['next_before']}")).json()
        ids = [item["confirmation_id"] for item in first["confirmations"] + rest["confirmations"]]
        assert sorted(ids) == sorted(item["confirmation_id"] for item in asked)
        one = await ann.get(f"/confirmations?session_id={asked[0]['session_id']}")
        assert len(one.json()["confirmations"]) == 1
        assert (await ann.get("/confirmations?state=declined")).json()["confirmations"] == []
        assert (await ann.get("/confirmations?state=odd")).status_code == 422


async def test_an_administrator_sees_how_often_people_are_asked_and_what_they_say(
    serving: Running,
):
    async with user(serving, "ann") as ann, user(serving, "root", "admin") as root:
        for number, option in enumerate(("decline", "approve_once", "approve_once")):
            asked = await ask(serving, ann, f"c{number}")
            answer = {"option_id": option, "digest": asked["digest"]}
            path = f"/confirmations/{asked['confirmation_id']}"
            assert (await ann.post(path, json=answer)).status_code == 200
        assert (await ann.get("/admin/confirmations/figures")).status_code == 403
        figures = (await root.get("/admin/confirmations/figures")).json()
    bash = figures["tools"]["bash"]
    assert (bash["asked"], bash["approved"], bash["declined"]) == (3, 2, 1)
    assert (bash["approve_rate"], bash["propose_rule"]) == (0.6667, False)
    assert [reported["asked"] for reported in figures["reasons"].values()] == [3]


@pytest.mark.parametrize("field", ["call", "edited_args", "input"])
async def test_what_is_kept_to_run_the_call_is_never_shown(serving: Running, field: str):
    async with user(serving, "ann") as ann:
        asked = await ask(serving, ann)
        detail = (await ann.get(f"/confirmations/{asked['confirmation_id']}")).json()
        assert field not in detail
        assert field not in detail["request"]


async def test_who_may_use_one_agent_answers_for_no_other(serving: Running):
    runtime = serving.service.runtime
    for name in ("one", "other"):
        await runtime.agents.create(read_profile(name, {}), actor="root")
    async with (
        user(serving, "ann") as ann,
        user(serving, "ann", "approve", agents=["one"]) as limited,
    ):
        session = await serving.service.sessions.get(await new_session(ann, agent_id="one"))
        assert session is not None
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        context = CallContext(
            log=session.log, agent_id="other", project=runtime.projects.get("default")
        )
        running = asyncio.create_task(
            runtime.executor.run([CallRequest("c1", "bash", RM)], context)
        )
        asked = await watcher.until("tool_confirmation_request")
        path = f"/confirmations/{asked['confirmation_id']}"
        answer = {"option_id": "approve_once", "digest": asked["digest"]}
        assert (await limited.post(path, json=answer)).status_code == 403
        assert (await ann.post(path, json=answer)).json()["outcome"] == "approved"
        assert (await running)[0].success


async def test_a_secret_in_the_reason_for_declining_is_kept_nowhere(serving: Running):
    serving.service.redactor.learn("test", ["hunter2 hunter2"])
    async with user(serving, "ann") as ann:
        asked = await ask(serving, ann)
        path = f"/confirmations/{asked['confirmation_id']}"
        answer = {
            "option_id": "decline",
            "digest": asked["digest"],
            "message": "not hunter2 hunter2",
        }
        assert (await ann.post(path, json=answer)).status_code == 200
        kept = (await ann.get(path)).json()
        events = (await ann.get(f"/sessions/{kept['session_id']}/events")).text
        title = (await ann.post("/sessions", json={"title": "hunter2 hunter2"})).json()["title"]
    assert kept["message"] == "not «redacted»"
    assert title == "«redacted»"
    assert "not «redacted»" in events
    assert "hunter2" not in events
