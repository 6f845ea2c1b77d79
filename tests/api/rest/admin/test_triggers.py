"""Named triggers over REST: secrets go in, and never come out."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.api.rest.client import problem
from tests.support.service import Running

SECRET = "bearer-of-secrets-4711"
NEW: dict[str, Any] = {
    "name": "deploy",
    "url": f"https://ci.example.org/hooks/{SECRET}",
    "headers": {"Authorization": f"Bearer {SECRET}", "X-Kind": "deployment"},
    "body": {"branch": "main"},
    "agents": ["*"],
}


async def made(client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/admin/triggers", json=NEW | fields)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.requirement("SYS-03")
async def test_a_trigger_is_made_changed_and_forgotten(client: httpx2.AsyncClient):
    first = await made(client)
    assert (first["origin"], first["header_names"]) == (
        "https://ci.example.org",
        ["Authorization", "X-Kind"],
    )
    path = f"/admin/triggers/{first['id']}"
    assert (await client.get(path)).json() == first
    assert (await client.get(path)).headers["etag"] == '"1"'
    change = {"free": True, "body": None, "method": "PUT"}
    changed = await client.patch(path, json=change, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert {name: changed.json()[name] for name in change} == change
    assert changed.json()["header_names"] == first["header_names"]
    late = await client.patch(path, json={"free": False}, headers={"If-Match": '"1"'})
    assert late.status_code == 412
    assert (await client.delete(path, headers={"If-Match": '"1"'})).status_code == 412
    assert (await client.delete(path)).json()["name"] == "deploy"
    assert (await client.get(path)).status_code == 404
    assert (await client.delete(path)).status_code == 404


async def test_triggers_are_listed_page_by_page(client: httpx2.AsyncClient):
    for name in ("b", "a"):
        await made(client, name=name)
    page = (await client.get("/admin/triggers", params={"limit": 1})).json()
    assert ([item["name"] for item in page["triggers"]], page["total"]) == (["a"], 2)
    rest = (await client.get("/admin/triggers", params={"after": page["next_after"]})).json()
    assert ([item["name"] for item in rest["triggers"]], rest["next_after"]) == (["b"], None)


async def test_two_triggers_cannot_have_one_name(client: httpx2.AsyncClient):
    await made(client)
    second = await made(client, name="other")
    assert (await client.post("/admin/triggers", json=NEW)).status_code == 409
    renamed = await client.patch(f"/admin/triggers/{second['id']}", json={"name": "deploy"})
    assert (await problem(renamed))["code"] == "already_exists"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "Deploy it"}, "body.name"),
        ({"name": "../x"}, "body.name"),
        ({"url": "ftp://ci.example.org/"}, "url"),
        ({"url": f"https://user:{SECRET}@ci.example.org/"}, "url"),
        ({"url": ""}, "body.url"),
        ({"method": "TRACE"}, "body.method"),
        ({"headers": {"Host": "evil.example"}}, "headers"),
        ({"headers": {"X-A": f"{SECRET}\r\nX-B: c"}}, "headers"),
        ({"body": "text"}, "body.body"),
        ({"method": "GET"}, "body"),
        ({"unknown": 1}, "body.unknown"),
    ],
)
async def test_what_does_not_fit_is_refused_by_name_and_tells_no_secret(
    client: httpx2.AsyncClient, body: dict[str, Any], path: str
):
    answer = await client.post("/admin/triggers", json=NEW | body)
    reported = await problem(answer)
    assert (answer.status_code, reported["details"]["errors"][0]["path"]) == (422, path)
    assert SECRET not in answer.text


@pytest.mark.requirement("SYS-03")
async def test_secrets_are_in_no_answer_and_in_no_audit(
    client: httpx2.AsyncClient, serving: Running
):
    first = await made(client)
    path = f"/admin/triggers/{first['id']}"
    again = {"url": "https://other.example/", "headers": {"X-Key": f"{SECRET}-too"}}
    answers = [
        await client.patch(path, json=again),
        await client.get(path),
        await client.get("/admin/triggers"),
        await client.delete(path),
        await client.get("/admin/audit", params={"kind": "governance.trigger"}),
    ]
    assert len(answers[-1].json()["rows"]) == 3
    assert not [answer.url for answer in answers if SECRET in answer.text]
    changed = next(row for row in answers[-1].json()["rows"] if row["outcome"] == "changed")
    assert changed["detail"]["before"]["origin"] == "https://ci.example.org"
    assert changed["detail"]["after"]["target_set"] is True


async def test_another_host_does_not_get_the_stored_headers(client: httpx2.AsyncClient):
    first = await made(client)
    path = f"/admin/triggers/{first['id']}"
    answer = await client.patch(path, json={"url": "https://evil.example/"})
    assert (await problem(answer))["details"]["field"] == "headers"
    assert (await client.get(path)).json() == first
