"""Schedules over REST, for administrators."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from tests.api.rest.client import call, problem


async def _made(client: httpx2.AsyncClient, **arguments: Any) -> str:
    wanted = {"action": "create", "prompt": "Look", "cron": "0 0 1 1 *", **arguments}
    made = await call(client, "schedule_cron", arguments=wanted)
    found: str = json.loads(made["record"]["result"])["data"]["schedule"]["id"]
    return found


async def test_an_administrator_sees_pauses_and_resumes_schedules(client: httpx2.AsyncClient):
    schedule_id = await _made(client, name="Yearly")
    listed = (await client.get("/admin/schedules")).json()["schedules"]
    assert [(item["id"], item["name"]) for item in listed] == [(schedule_id, "Yearly")]
    owner = listed[0]["owner"]
    assert (await client.get("/admin/schedules", params={"owner": "x"})).json()["schedules"] == []
    own = (await client.get("/admin/schedules", params={"owner": owner})).json()
    assert (len(own["schedules"]), own["total"], own["next_after"]) == (1, 1, None)

    paused = (await client.post(f"/admin/schedules/{schedule_id}/pause")).json()
    resumed = (await client.post(f"/admin/schedules/{schedule_id}/resume")).json()
    assert (paused["paused"], resumed["paused"]) == ("paused by an administrator", "")
    assert (paused["paused_code"], resumed["paused_code"]) == ("schedule_held", None)
    assert (await client.get(f"/admin/schedules/{schedule_id}")).json() == resumed


async def test_an_administrator_begins_a_run_and_sees_what_became_of_it(
    client: httpx2.AsyncClient,
):
    schedule_id = await _made(client)
    begun = (await client.post(f"/admin/schedules/{schedule_id}/run")).json()
    assert (begun["trigger"], begun["status"]) == ("manual", "started")
    (slot,) = (await client.get(f"/admin/schedules/{schedule_id}/history")).json()["history"]
    assert slot["run_id"] == begun["run_id"]
    session = await client.get(f"/sessions/{begun['session_id']}")
    assert session.json()["title"] == "Look"


async def test_a_schedule_is_deleted_with_its_history(client: httpx2.AsyncClient):
    schedule_id = await _made(client)
    assert (await client.delete(f"/admin/schedules/{schedule_id}")).json()["id"] == schedule_id
    for method, path in (
        ("GET", ""),
        ("GET", "/history"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/run"),
        ("DELETE", ""),
    ):
        answer = await client.request(method, f"/admin/schedules/{schedule_id}{path}")
        assert (await problem(answer))["code"] == "not_found", (method, path)


async def test_schedules_come_in_pages_also_when_names_are_equal(client: httpx2.AsyncClient):
    made = {await _made(client, name="Same") for _ in range(3)}
    first = (await client.get("/admin/schedules", params={"limit": 2})).json()
    wanted = {"limit": 2, "after": first["next_after"]}
    second = (await client.get("/admin/schedules", params=wanted)).json()
    seen = [item["id"] for page in (first, second) for item in page["schedules"]]
    assert (len(seen), set(seen)) == (3, made)
    assert (first["total"], second["next_after"]) == (3, None)
    lost = await problem(await client.get("/admin/schedules", params={"after": "sch_gone"}))
    assert (lost["code"], lost["details"]["field"]) == ("validation_failed", "query.after")


async def test_what_somebody_has_changed_meanwhile_is_not_deleted(client: httpx2.AsyncClient):
    schedule_id = await _made(client)
    path = f"/admin/schedules/{schedule_id}"
    before = (await client.get(path)).headers["etag"]
    await client.patch(path, json={"prompt": "Look elsewhere"})
    answer = await client.delete(path, headers={"If-Match": before})
    assert (await problem(answer))["code"] == "version_mismatch"
    now = (await client.get(path)).headers["etag"]
    assert (await client.delete(path, headers={"If-Match": now})).status_code == 200
