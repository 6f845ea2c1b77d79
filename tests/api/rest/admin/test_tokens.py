"""Tokens over REST: made, shown once, rotated, ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.settings import Settings
from tests.api.people import holding
from tests.api.rest.client import problem
from tests.support.service import Running, settings_for

OWNER = "operator-secret-0123456789"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, anthropic_api_key=None, token=OWNER)


@pytest.fixture
async def client(serving: Running):
    async with holding(serving, OWNER) as client:
        yield client


async def make(client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/admin/tokens", json={"name": "ann", "scopes": ["chat"], **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"/api/v1/admin/tokens/{made['token']['id']}"
    return made


async def test_a_secret_is_shown_when_it_is_made_and_never_again(
    serving: Running, client: httpx2.AsyncClient, tmp_path_factory: pytest.TempPathFactory
):
    limits = {"calls_per_minute": 5}
    site = {"id": "p", "name": "Site", "root": str(tmp_path_factory.mktemp("site"))}
    assert (await client.post("/admin/agents", json={"id": "a"})).status_code == 201
    assert (await client.post("/admin/projects", json=site)).status_code == 201
    made = await make(client, agents=["a"], projects=["p"], limits=limits, days=3)
    listed = await client.get("/admin/tokens")
    one = await client.get(f"/admin/tokens/{made['token']['id']}")

    assert listed.json()["tokens"] == [made["token"]] == [one.json()]
    assert made["secret"] not in listed.text + one.text
    shown = {key: made["token"][key] for key in ("agents", "projects", "limits", "created_by")}
    assert shown == {"agents": ["a"], "projects": ["p"], "limits": limits, "created_by": "admin"}
    async with holding(serving, made["secret"]) as ann:
        assert (await ann.get("/me")).json()["limits"] == limits


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"scopes": ["root"]}, "scopes"),
        ({"scopes": ["admin"], "projects": ["p"]}, "projects"),
        ({"projects": ["default", "Site"]}, "projects"),
        ({"agents": ["nobody"]}, "agents"),
        ({"name": "admin"}, "name"),
        ({"name": "System"}, "name"),  # the audit would show its deeds as the service's
        ({"name": "cli"}, "name"),
        ({"name": "unknown"}, "name"),
        ({"limits": {"calls_per_day": 5}}, "limits"),
    ],
)
async def test_a_token_that_makes_no_sense_is_not_made(
    client: httpx2.AsyncClient, wrong: dict[str, Any], field: str
):
    reported = await problem(
        await client.post("/admin/tokens", json={"name": "ann", "scopes": ["chat"], **wrong})
    )

    assert (reported["status"], reported["details"]["field"]) == (422, field)
    assert (await client.get("/admin/tokens")).json()["tokens"] == []


async def test_a_revoked_token_ends_at_once_and_revoking_again_changes_nothing(
    serving: Running, client: httpx2.AsyncClient
):
    made = await make(client)
    path = f"/admin/tokens/{made['token']['id']}"
    async with holding(serving, made["secret"]) as ann:
        assert (await ann.get("/sessions")).status_code == 200
        revoked = await client.delete(path)
        assert (await ann.get("/sessions")).status_code == 401

    assert revoked.json()["state"] == "revoked"
    again = await client.delete(path)
    assert (again.status_code, again.json()) == (200, revoked.json())
    audit = await client.get("/admin/audit", params={"kind": "token.revoked"})
    assert len(audit.json()["rows"]) == 1


async def test_a_rotated_token_serves_the_same_user(serving: Running, client: httpx2.AsyncClient):
    made = await make(client, projects=["default"])
    path = f"/admin/tokens/{made['token']['id']}/rotate"
    async with holding(serving, made["secret"]) as ann:
        session_id = (await ann.post("/sessions", json={})).json()["id"]
        new = (await client.post(path, json={})).json()
        assert (await ann.get("/sessions")).status_code == 401
    async with holding(serving, new["secret"]) as ann:
        assert (await ann.get(f"/sessions/{session_id}")).status_code == 200

    assert new["token"]["projects"] == ["default"]
    assert (await client.post(path, json={})).status_code == 404


async def test_what_becomes_of_tokens_is_audited_without_a_secret(
    serving: Running, client: httpx2.AsyncClient
):
    made = await make(client)
    new = (
        await client.post(f"/admin/tokens/{made['token']['id']}/rotate", json={"grace_s": 60})
    ).json()
    await client.delete(f"/admin/tokens/{new['token']['id']}")

    rows = await serving.service.db.transact(
        lambda transaction: transaction.fetch(
            "SELECT kind, actor, subject, detail FROM audit WHERE kind LIKE 'token.%' ORDER BY seq"
        )
    )
    assert [row[:3] for row in rows] == [
        ("token.created", "admin", made["token"]["id"]),
        ("token.rotated", "admin", new["token"]["id"]),
        ("token.revoked", "admin", new["token"]["id"]),
    ]
    assert made["secret"] not in str(rows)
    assert new["secret"] not in str(rows)
