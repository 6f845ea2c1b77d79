"""What approvers see and do in sessions of others, and that nobody else does."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from tests.api.people import WORK, holding, user
from tests.api.rest.test_confirmations import RM, ask
from tests.support.service import Running
from tests.support.source import ROOT

STEPS = [{"groups": ["payments"]}, {"groups": ["operations"], "after_s": 3600}]

# Name, scopes, and whether the person may decide the request of ann's session.
PEOPLE: tuple[tuple[str, str, tuple[str, ...], bool], ...] = (
    ("member", "bob", ("approve",), True),
    ("member who chats", "bea", WORK, True),
    ("role", "zoe", ("approve:payments",), True),
    ("substitute of a member", "sue", ("approve",), True),
    ("administrator", "root", ("admin",), True),
    ("member without the scope", "carl", ("chat", "tools:call"), False),
    ("of no group", "eve", WORK, False),
    ("role of another group", "yan", ("approve:shipping",), False),
    ("of the next group", "olga", ("approve",), False),
    ("auditor", "ida", ("audit:read",), False),
)


@dataclass
class Case:
    """A request in a session of ann that only the group `payments` may decide."""

    running: Running
    root: httpx2.AsyncClient
    owner: httpx2.AsyncClient
    asked: dict[str, Any]

    @property
    def path(self) -> str:
        return f"/confirmations/{self.asked['confirmation_id']}"

    @property
    def approval(self) -> dict[str, Any]:
        return {"option_id": "approve_once", "digest": self.asked["digest"]}


async def set_up(root: httpx2.AsyncClient, **policy: Any) -> None:
    groups = {"payments": ["bob", "bea", "carl"], "operations": ["olga"], "shipping": []}
    for group, members in groups.items():
        made: dict[str, Any] = {"id": group, "name": group, "members": members}
        assert (await root.post("/admin/approver-groups", json=made)).status_code == 201
    body = {"name": "Payments", "steps": STEPS, **policy}
    answer = await root.post("/admin/approval-policies", json=body)
    assert answer.status_code == 201, answer.text


@asynccontextmanager
async def case(serving: Running, **policy: Any) -> AsyncIterator[Case]:
    async with user(serving, "root", "admin") as root, user(serving, "ann") as ann:
        await set_up(root, **policy)
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        body = {"user_id": "bob", "substitute_id": "sue", "ends_at": tomorrow}
        assert (await root.post("/admin/substitutes", json=body)).status_code == 201
        yield Case(serving, root, ann, await ask(serving, ann))


async def test_an_approver_reads_the_request_and_nothing_else(serving: Running):
    async with case(serving, context_turns=2) as it, AsyncExitStack() as stack:
        session = it.asked["session_id"]
        for label, name, scopes, may in PEOPLE:
            client = await stack.enter_async_context(user(serving, name, *scopes))
            listed = await client.get("/confirmations?state=pending")
            ids = [item["confirmation_id"] for item in listed.json().get("confirmations", ())]
            assert ids == ([it.asked["confirmation_id"]] if may else []), label
            for path in (it.path, f"{it.path}/context"):
                got = (await client.get(path)).status_code
                assert (got == 200) is may, (label, path, got)
            if label != "administrator":
                for path in ("", "/events", "/snapshot", "/confirmations", "/branches"):
                    got = (await client.get(f"/sessions/{session}{path}")).status_code
                    assert got in (403, 404), (label, path, got)


async def test_only_an_approver_answers(serving: Running):
    async with case(serving) as it, AsyncExitStack() as stack:
        clients = [
            (label, may, await stack.enter_async_context(user(serving, name, *scopes)))
            for label, name, scopes, may in PEOPLE
        ]
        for label, may, client in clients:
            if not may:
                answer = await client.post(it.path, json=it.approval)
                assert answer.status_code in (403, 404), label
        refused = await it.owner.post(it.path, json=it.approval)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "'Payments' names the approvers" in refused.json()["detail"]
        (first, *late) = [client for _, may, client in clients if may]
        assert (await first.post(it.path, json=it.approval)).json()["outcome"] == "approved"
        for client in late:
            again = await client.post(it.path, json=it.approval)
            assert again.json()["code"] == "confirmation_already_resolved"
            assert again.json()["details"]["by"] == "bob"


async def test_the_feed_follows_rights(serving: Running):
    """Each sees the request over WebSocket exactly while they may decide it, and can answer."""
    async with case(serving) as it, AsyncExitStack() as stack:
        chats = {}
        for label, name, scopes, may in PEOPLE:
            if label == "auditor":
                continue
            secret, _ = await serving.service.tokens.create(name, scopes)
            hello = {"auth": {"token": secret}}
            chat = await stack.enter_async_context(serving.connect(hello=hello))
            ready = await chat.command(type="subscribe_inbox")
            if ready["type"] == "error":
                assert not may, label
                continue
            assert len(ready["entries"]) == may, label
            chats[label] = chat
        groups = "/admin/approver-groups"
        await it.root.patch(f"{groups}/payments", json={"members": ["bea", "eve"]})
        gained = await chats["of no group"].until("inbox_changed")
        assert gained["state"] == "opened"
        lost = await chats["member"].until("inbox_changed")
        assert (lost["state"], lost["outcome"]) == ("closed", "reassigned")
        answer = {
            "type": "tool_confirmation_response",
            "session_id": it.asked["session_id"],
            "confirmation_id": it.asked["confirmation_id"],
            **it.approval,
        }
        refused = await chats["member"].command(**answer)
        assert refused["error"]["code"] == "not_found"
        foreign = await chats["of no group"].command(**{**answer, "session_id": "ses_other"})
        assert foreign["error"]["code"] == "not_found"
        assert (await chats["of no group"].command(**answer))["result"] == {"outcome": "approved"}
        ended = await chats["role"].until("inbox_changed")
        assert (ended["state"], ended["by"]) == ("closed", "eve")


async def test_the_example_of_the_documentation_is_accepted(serving: Running):
    page = (ROOT / "docs/confirmations.md").read_text(encoding="utf-8")
    block = page.split("<!-- run by: tests/api/rest/test_approvers.py -->")[1].split("```")[1]
    requests = re.findall(r"POST /api/v1(\S+)\n(\{.*?\})\n(?:\n|$)", block, flags=re.DOTALL)
    assert [path for path, _ in requests] == ["/admin/approver-groups", "/admin/approval-policies"]
    async with user(serving, "root", "admin") as root:
        await root.post("/admin/approver-groups", json={"id": "operations", "name": "Operations"})
        for path, body in requests:
            answer = await root.post(path, json=json.loads(body))
            assert answer.status_code == 201, answer.text


async def test_two_approvals_over_rest(serving: Running):
    async with (
        case(serving, quorum=2) as it,
        user(serving, "bob", "approve") as bob,
        user(serving, "bea", "approve") as bea,
    ):
        assert (await bob.post(it.path, json=it.approval)).json()["outcome"] == "recorded"
        again = await bob.post(it.path, json=it.approval)
        assert (again.status_code, again.json()["code"]) == (409, "already_approved")
        shown = (await bea.get(it.path)).json()
        assert shown["request"]["approval"]["approved_by"] == ["bob"]
        assert shown["state"] == "pending"
        assert (await bea.post(it.path, json=it.approval)).json()["outcome"] == "approved"
        assert (await bea.get(it.path)).json()["by"] == "bea"


async def test_the_context_has_what_was_said_and_no_secrets(serving: Running):
    async with case(serving, context_turns=1) as it, user(serving, "bob", "approve") as bob:
        found = (await bob.get(f"{it.path}/context")).json()
        assert found == {"turns": 1, "messages": []}


@pytest.mark.parametrize("turns", [0, 1])
async def test_a_substitute_is_named_seen_and_revoked(serving: Running, turns: int):
    async with (
        user(serving, "ann", "chat", "approve") as ann,
        user(serving, "bob", "approve") as bob,
        user(serving, "eve", "approve") as eve,
    ):
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        body = {"substitute_id": "bob", "ends_at": tomorrow, "note": "Holidays"}
        made = (await ann.post("/me/substitutes", json=body)).json()
        assert (made["user_id"], made["active"]) == ("ann", True)
        for client, sees in ((ann, True), (bob, True), (eve, False)):
            listed = (await client.get("/me/substitutes")).json()["substitutions"]
            assert bool(listed) is sees
        path = f"/me/substitutes/{made['id']}"
        assert (await eve.delete(path)).status_code == 404
        ended = await (bob if turns else ann).delete(path)
        assert ended.json()["revoked_by"] == ("bob" if turns else "ann")
        assert (await ann.delete(path)).status_code == 409
        assert (await ann.get("/me/substitutes")).json()["substitutions"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"substitute_id": "ann", "ends_at": "2999-01-01T00:00:00Z"}, "substitute_id"),
        ({"substitute_id": "bob", "ends_at": "2999-01-01T00:00:00Z"}, "ends_at"),
        ({"substitute_id": "bob", "ends_at": "2020-01-01T00:00:00Z"}, "ends_at"),
        ({"substitute_id": "bob", "ends_at": "2026-01-01"}, "body.ends_at"),
        ({"substitute_id": "", "ends_at": "2999-01-01T00:00:00Z"}, "body.substitute_id"),
    ],
    ids=str,
)
async def test_a_substitute_that_makes_no_sense_is_refused(
    serving: Running, body: dict[str, Any], field: str
):
    async with user(serving, "ann", "approve") as ann:
        answer = await ann.post("/me/substitutes", json=body)
        assert answer.status_code == 422
        named = [item["path"] for item in answer.json()["details"].get("errors", ())]
        assert field in (*named, answer.json()["details"].get("field"))


async def test_policies_are_listed_in_their_order(serving: Running):
    async with user(serving, "root", "admin") as root:
        await root.post("/admin/approver-groups", json={"id": "g", "name": "G", "members": []})
        for name, position in (("b", 30), ("a", 9), ("c", 100)):
            body = {"name": name, "position": position, "steps": [{"groups": ["g"]}]}
            assert (await root.post("/admin/approval-policies", json=body)).status_code == 201
        page = (await root.get("/admin/approval-policies?limit=2")).json()
        assert [policy["name"] for policy in page["policies"]] == ["a", "b"]
        rest = await root.get(f"/admin/approval-policies?after={page['next_after']}")
        assert [policy["name"] for policy in rest.json()["policies"]] == ["c"]
        first = page["policies"][0]
        path = f"/admin/approval-policies/{first['id']}"
        changed = await root.patch(path, json={"quorum": 3}, headers={"if-match": '"1"'})
        assert (changed.json()["quorum"], changed.json()["version"]) == (3, 2)
        stale = await root.patch(path, json={"quorum": 4}, headers={"if-match": '"1"'})
        assert stale.status_code == 412
        assert (await root.delete("/admin/approver-groups/g")).status_code == 409
        assert (await root.delete(path)).status_code == 200


async def test_an_administrator_cannot_approve_a_call_sent_in_a_session_of_another(
    serving: Running,
):
    async with case(serving, not_requester=True) as it:
        secret, _ = await serving.service.tokens.create("kim", ("admin",))
        session = it.asked["session_id"]
        await it.root.post(it.path, json={**it.approval, "option_id": "decline"})
        run = serving.service.runs.active(session)
        if run is not None:
            await run.done
        async with serving.connect(hello={"auth": {"token": secret}}) as kim:
            await kim.command(type="subscribe", session_id=session)
            call = {"session_id": session, "name": "bash", "arguments": RM}
            assert (await kim.command(type="tool_call", **call))["type"] == "ack"
            asked = await kim.until(
                "tool_confirmation_request",
                lambda event: event["approval"]["requester"] == "kim",
            )
            answer = {
                "type": "tool_confirmation_response",
                "session_id": session,
                "confirmation_id": asked["confirmation_id"],
                "digest": asked["digest"],
            }
            refused = await kim.command(**answer, option_id="approve_once")
            assert refused["error"]["code"] == "forbidden"
            path = f"/confirmations/{asked['confirmation_id']}"
            decline = {"option_id": "decline", "digest": asked["digest"]}
            assert (await it.root.post(path, json=decline)).json()["outcome"] == "declined"


async def test_a_token_for_a_group_is_created_over_rest(serving: Running):
    async with case(serving) as it:
        body = {"name": "zoe", "scopes": ["approve:payments"]}
        made = await it.root.post("/admin/tokens", json=body)
        assert made.status_code == 201, made.text
        async with holding(serving, made.json()["secret"]) as zoe:
            assert (await zoe.get(it.path)).status_code == 200
            assert (await zoe.get("/me")).json()["scopes"] == ["approve:payments"]
        for wrong in ("approve:", "approve:a b", "Approve:payments"):
            answer = await it.root.post("/admin/tokens", json={"name": "x", "scopes": [wrong]})
            assert answer.status_code == 422, wrong
