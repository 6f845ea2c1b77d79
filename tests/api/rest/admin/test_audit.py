"""Reading, exporting and checking the audit over REST."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.settings import Settings, load_settings
from app.governance.audit.log import AuditEntry
from tests.api.rest.client import call, problem
from tests.support.http import HttpClient
from tests.support.service import Running

OWNER = "operator-secret-0123456789"
OWNED = {"authorization": f"Bearer {OWNER}"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(data_dir=tmp_path, port=0, anthropic_api_key=None, token=OWNER)


@pytest.fixture
async def admin(serving: Running) -> AsyncIterator[httpx2.AsyncClient]:
    async with HttpClient(base_url=serving.api, headers=OWNED) as client:
        yield client


@asynccontextmanager
async def user(serving: Running, name: str, *scopes: str) -> AsyncIterator[httpx2.AsyncClient]:
    secret, _ = await serving.service.tokens.create(name, scopes)
    headers = {"authorization": f"Bearer {secret}"}
    async with HttpClient(base_url=serving.api, headers=headers) as client:
        yield client


async def rows(client: httpx2.AsyncClient, **wanted: Any) -> list[dict[str, Any]]:
    answer = await client.get("/admin/audit", params=wanted)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


async def some_calls(client: httpx2.AsyncClient, count: int = 3) -> None:
    for number in range(count):
        await call(client, "calculator", arguments={"expression": f"{number}+1"})


async def test_every_call_is_there_with_who_made_it(serving: Running, admin: httpx2.AsyncClient):
    async with user(serving, "ann", "tools:call") as ann:
        await some_calls(ann, 1)
    (row,) = await rows(admin, kind="call.")
    assert row["actor"] == "ann"
    assert row["detail"]["caller"] == "rest"
    assert row["detail"]["args"] == {"expression": "0+1"}


async def test_an_auditor_sees_everything_and_nobody_else_does(
    serving: Running, admin: httpx2.AsyncClient
):
    await some_calls(admin, 1)
    async with user(serving, "eve", "audit:read") as auditor:
        assert [row["actor"] for row in await rows(auditor, kind="call.")] == ["admin"]
        assert (await auditor.get("/admin/audit/export")).status_code == 200
        assert (await auditor.post("/admin/audit/verify")).json()["ok"] is True
    async with user(serving, "bob", "chat", "tools:call", "approve") as other:
        for answer in (
            await other.get("/admin/audit"),
            await other.get("/admin/audit/export"),
            await other.post("/admin/audit/verify"),
        ):
            assert (await problem(answer))["code"] == "forbidden"


async def test_filters_choose_and_pages_go_on(admin: httpx2.AsyncClient):
    await some_calls(admin, 5)
    await call(admin, "no_such_tool", arguments={})
    assert len(await rows(admin, tool_name="calculator")) == 5
    assert len(await rows(admin, tool_name="calculator", outcome="success", verdict="allow")) == 5
    assert await rows(admin, tool_name="calculator", verdict="deny") == []
    assert await rows(admin, kind="calc") == []
    assert await rows(admin, kind="call%") == []
    assert len(await rows(admin, kind="call.fin", actor="admin")) == 6
    one = (await rows(admin, tool_name="calculator"))[0]
    assert await rows(admin, operation_id=one["operation_id"]) == [one]
    assert len(await rows(admin, session_id=one["session_id"])) >= 1
    assert await rows(admin, until="2020-01-01", since="2019-01-01T00:00:00+02:00") == []
    assert len(await rows(admin, since="2020-01-01", kind="call.finished")) == 6

    seen, before = [], None
    while True:
        where: dict[str, Any] = {
            "limit": 2,
            "tool_name": "calculator",
            **({"before": before} if before else {}),
        }
        page = (await admin.get("/admin/audit", params=where)).json()
        seen += [row["seq"] for row in page["rows"]]
        before = page["next_before"]
        if before is None:
            break
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=True)


async def test_what_was_done_about_one_thing_is_found(admin: httpx2.AsyncClient):
    for name in ("a", "b"):
        await admin.post("/admin/agents", json={"id": name})
    await admin.delete("/admin/agents/a")
    found = await rows(admin, subject="a")
    assert [(row["kind"], row["subject"]) for row in found] == [("governance.agent", "a")] * 2
    assert await rows(admin, subject="a", kind="call.") == []


async def test_a_moment_that_is_none_is_refused(admin: httpx2.AsyncClient):
    answer = await admin.get("/admin/audit", params={"since": "yesterday"})
    assert (await problem(answer))["code"] == "validation_failed"


@pytest.mark.requirement("B-34")
async def test_the_export_holds_what_proves_the_chain(serving: Running, admin: httpx2.AsyncClient):
    await some_calls(admin, 1)
    for number in range(1200):
        serving.service.audit.record(AuditEntry("call.finished", actor="ann", detail={"n": number}))
    await serving.service.db.flush()
    answer = await admin.get("/admin/audit/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert len(lines) >= 1200
    columns = ["seq", "ts", "kind", "actor", "subject", "session_id", "run_id", "agent_id"]
    columns += ["tool_name", "operation_id", "verdict", "outcome", "detail", "previous", "hash"]
    assert [list(line) for line in lines[:2]] == [columns] * 2
    assert [line["previous"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]
    some = (await admin.get("/admin/audit/export", params={"kind": "auth."})).text
    assert all('"kind":"auth.' in line for line in some.splitlines())
    none = await admin.get("/admin/audit/export", params={"tool_name": "nope"})
    assert (none.status_code, none.text) == (200, "")


async def test_a_changed_row_is_named(serving: Running, admin: httpx2.AsyncClient):
    await some_calls(admin)
    assert (await admin.post("/admin/audit/verify")).json()["broken"] is None
    path = serving.service.settings.database_path
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE audit SET actor = 'nobody' WHERE seq = 2")
    found = (await admin.post("/admin/audit/verify")).json()
    assert found["ok"] is False
    assert (found["broken"]["seq"], found["broken"]["code"]) == (2, "audit_row_changed")


async def test_wrong_tokens_leave_a_row_and_a_flood_only_few(
    serving: Running, admin: httpx2.AsyncClient
):
    headers = {"authorization": "Bearer tg_wrong-token-0123456789"}
    async with HttpClient(base_url=serving.api, headers=headers) as stranger:
        for _ in range(30):
            assert (await stranger.get("/sessions")).status_code in (401, 429)
    refused = await rows(admin, kind="auth.refused")
    assert 1 <= len(refused) <= 15
    assert "wrong-token" not in str(refused)


async def test_what_a_known_user_may_not_do_leaves_a_row_and_a_flood_only_few(
    serving: Running, admin: httpx2.AsyncClient
):
    async with user(serving, "ann", "chat") as ann:
        for _ in range(30):
            assert (await ann.patch("/admin/tools/bash", json={})).status_code == 403
        for _ in range(30):
            assert (await ann.get("/sessions/none")).status_code == 404
    refused = await rows(admin, kind="auth.refused", actor="ann")
    assert len(refused) == 10
    detail = refused[-1]["detail"]
    assert detail["reason"] == "Requires the scope 'admin'"
    assert detail["what"] == "PATCH /api/v1/admin/tools/bash"
    (token,) = [item for item in await serving.service.tokens.list_all() if item.name == "ann"]
    assert detail["token_id"] == token.id
