import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.settings import Settings, load_settings
from tests.api.rest.client import call, new_session, problem, watching
from tests.support.http import HttpClient
from tests.support.service import Running

OWNER = "operator-secret-0123456789"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(data_dir=tmp_path, port=0, anthropic_api_key=None, token=OWNER)


@asynccontextmanager
async def user(serving: Running, name: str, *scopes: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with a token of its own."""
    secret, _ = await serving.service.tokens.create(name, scopes)
    headers = {"authorization": f"Bearer {secret}"}
    async with HttpClient(base_url=serving.api, headers=headers) as client:
        yield client


@pytest.mark.parametrize(
    "header", [None, "Bearer wrong", "Bearer tg_wrong", "Basic dTpw", "Bearer"]
)
async def test_a_missing_or_wrong_token_is_unauthenticated(
    client: httpx2.AsyncClient, header: str | None
):
    headers = {"authorization": header} if header else {}

    answer = await client.get("/sessions", headers=headers)

    assert (await problem(answer))["code"] == "unauthenticated"
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_the_configured_token_has_every_right(client: httpx2.AsyncClient):
    headers = {"authorization": f"Bearer {OWNER}"}

    assert (await client.get("/metrics", headers=headers)).status_code == 200
    assert (await client.get("/sessions", headers=headers)).status_code == 200


@pytest.mark.parametrize("path", ["/health", "/ready", "/openapi.json"])
async def test_health_and_the_document_need_no_token(client: httpx2.AsyncClient, path: str):
    assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize(
    ("scopes", "method", "path", "body", "missing"),
    [
        (["tools:call"], "GET", "/sessions", None, "chat"),
        (["tools:call"], "POST", "/sessions", {}, "chat"),
        (["chat"], "POST", "/tools/calculator/call", {}, "tools:call"),
        (["chat"], "POST", "/tools/calls", {"calls": [{"name": "x"}]}, "tools:call"),
        (["chat"], "PATCH", "/tools/bash", {"enabled": False}, "admin"),
        (["chat"], "GET", "/metrics", None, "audit:read"),
        (["chat"], "POST", "/confirmations/x", {"option_id": "a", "digest": "b"}, "approve"),
    ],
)
async def test_a_right_that_was_not_granted_is_named(
    serving: Running,
    scopes: list[str],
    method: str,
    path: str,
    body: dict[str, Any] | None,
    missing: str,
):
    async with user(serving, "ann", *scopes) as ann:
        reported = await problem(await ann.request(method, path, json=body))

    assert (reported["status"], reported["details"]) == (403, {"scope": missing})


async def test_what_belongs_to_somebody_else_is_not_found(serving: Running):
    everything = ("chat", "tools:call", "approve")
    async with user(serving, "ann", *everything) as ann, user(serving, "bob", *everything) as bob:
        session_id = await new_session(ann)
        printed = await call(
            ann, "bash", arguments={"command": "seq 1 20000"}, session_id=session_id
        )
        paths = ["", "/messages", "/runs", "/calls", "/snapshot", "/events", "/events/stream"]
        paths += ["/artifacts", "/confirmations", f"/runs/{printed['run_id']}"]
        reads = [await bob.get(f"/sessions/{session_id}{path}") for path in paths]
        reads.append(await bob.get(f"/artifacts/{printed['artifact_id']}"))
        writes = [
            await bob.patch(f"/sessions/{session_id}", json={"title": "mine"}),
            await bob.post(f"/sessions/{session_id}/messages", json={"content": "hi"}),
            await bob.post(f"/sessions/{session_id}/branch", json={"entry_id": None}),
            await bob.post(f"/sessions/{session_id}/runs/{printed['run_id']}/cancel"),
            await bob.post("/tools/calculator/call", json={"session_id": session_id}),
        ]
        listed = (await bob.get("/sessions", params={"kind": "all"})).json()["sessions"]
        own = await ann.get(f"/artifacts/{printed['artifact_id']}")

    assert {answer.status_code for answer in [*reads, *writes]} == {404}
    assert listed == []
    assert own.status_code == 200


async def test_nobody_else_answers_a_confirmation(serving: Running):
    everything = ("chat", "tools:call", "approve")
    async with user(serving, "ann", *everything) as ann, user(serving, "bob", *everything) as bob:
        session_id = await new_session(ann)
        async with watching(ann, session_id) as reader:
            sent = ann.post(
                "/tools/bash/call",
                json={"arguments": {"command": "rm -rf build"}, "session_id": session_id},
            )
            calling = asyncio.create_task(sent)
            asked = (await reader.until("tool_confirmation_request"))[-1]
            path = f"/confirmations/{asked['confirmation_id']}"
            answer = {"option_id": "approve_once", "digest": asked["digest"]}

            reported = await problem(await bob.post(path, json=answer))

            await ann.post(path, json={**answer, "option_id": "decline"})
            result = (await calling).json()
    assert (reported["status"], reported["details"]) == (
        404,
        {"confirmation_id": asked["confirmation_id"]},
    )
    assert result["status"] == "declined"


async def test_paths_of_the_server_are_for_administrators(serving: Running):
    async with user(serving, "ann", "chat") as ann, user(serving, "eve", "admin") as eve:
        plain = (await ann.get("/projects")).json()["projects"]
        full = (await eve.get("/projects")).json()["projects"]

    assert plain == [{"id": "default", "name": "default", "root": None}]
    assert full[0]["root"]


@pytest.mark.requirement("GOV-02")
async def test_the_catalog_is_served_while_the_database_is_not_there(
    serving: Running, client: httpx2.AsyncClient
):
    headers = {"authorization": f"Bearer {OWNER}"}
    before = (await client.get("/tools", headers=headers)).json()
    path = serving.service.settings.database_path
    hidden = path.with_name("hidden.db")
    await serving.service.database.close()
    path.rename(hidden)

    sessions = await client.get("/sessions", headers=headers)
    catalog = await client.get("/tools", headers=headers)

    hidden.rename(path)
    assert (await problem(sessions))["code"] == "storage_unavailable"
    assert catalog.json() == before
    assert before["tools"]


async def test_a_foreign_host_name_is_refused(client: httpx2.AsyncClient):
    reported = await problem(await client.get("/health", headers={"host": "evil.example"}))

    assert (reported["status"], reported["details"]) == (403, {"host": "evil.example"})


async def test_a_change_from_a_foreign_page_is_refused(client: httpx2.AsyncClient):
    headers = {"authorization": f"Bearer {OWNER}", "origin": "https://evil.example"}

    reported = await problem(await client.post("/sessions", json={}, headers=headers))

    assert (reported["status"], reported["code"]) == (403, "forbidden")


async def test_a_change_from_the_own_page_is_allowed(client: httpx2.AsyncClient, service_url: str):
    headers = {"authorization": f"Bearer {OWNER}", "origin": service_url}

    assert (await client.post("/sessions", json={}, headers=headers)).status_code == 201


async def test_a_ticket_is_redeemed_once_for_who_asked(serving: Running):
    async with user(serving, "ann", "chat") as ann:
        ticket = (await ann.post("/ws-tickets")).json()

    assert serving.service.ws_tickets.redeem(ticket["ticket"]).user_id == "ann"
    assert ticket["expires_in_s"] == 30
