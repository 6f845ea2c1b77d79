"""Schedules that administrators make and change."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.api.rest.client import problem

_NEW: dict[str, Any] = {"name": "News", "prompt": "Read the news.", "cron": "0 9 * * mon-fri"}


async def test_a_schedule_is_made_for_a_user_and_changed(client: httpx2.AsyncClient):
    answer = await client.post("/admin/schedules", json={**_NEW, "owner": "bob"})
    made = answer.json()
    assert (answer.status_code, made["owner"], made["version"]) == (201, "bob", 1)
    assert answer.headers["location"].endswith(f"/admin/schedules/{made['id']}")
    change = {"every_seconds": 3600, "missed": "once"}
    path = f"/admin/schedules/{made['id']}"
    changed = (await client.patch(path, json=change, headers={"if-match": '"1"'})).json()
    assert (changed["cron"], changed["every_seconds"], changed["missed"]) == (None, 3600, "once")
    assert (changed["name"], changed["owner"], changed["version"]) == ("News", "bob", 2)
    late = await client.patch(path, json={"name": "Late"}, headers={"if-match": '"1"'})
    assert (await problem(late))["code"] == "version_mismatch"
    assert (await client.get(path)).json() == changed
    audit = (await client.get("/admin/audit", params={"limit": 5})).json()["rows"]
    assert audit
    assert "bob" not in {row["actor"] for row in audit}, "who changed it is told, not its owner"


@pytest.mark.parametrize(
    ("wrong", "status", "reported"),
    [
        ({"cron": None}, 422, "set one of cron, every_seconds and at"),
        ({"every_seconds": 60}, 422, "set one of cron, every_seconds and at"),
        ({"cron": "every day"}, 422, "cron"),
        ({"timezone": "Mars/North"}, 422, "Mars/North"),
        ({"agent_id": "nobody"}, 404, "nobody"),
        ({"project_id": "nowhere"}, 404, "nowhere"),
    ],
)
async def test_what_could_not_run_is_refused(
    client: httpx2.AsyncClient, wrong: dict[str, Any], status: int, reported: str
):
    answer = await client.post("/admin/schedules", json={**_NEW, **wrong})
    assert answer.status_code == status
    assert reported in (await problem(answer))["detail"]
    assert (await client.get("/admin/schedules")).json()["total"] == 0
