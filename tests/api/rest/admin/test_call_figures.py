"""Calls, their times and questions, as operators see them."""

from __future__ import annotations

import httpx2
import pytest

from app.agents import call_statistics
from app.db.statements import ADD_CALL, ADD_CONFIRMATION
from tests.support.service import Running


def _second(number: int) -> str:
    return f"2026-11-20T10:00:{number:02}.000Z"


@pytest.fixture
async def called(serving: Running) -> Running:
    """20 calls of `bash` on one day that took 1 to 20 ms; on the next one of `grep` for `writer`
    that a person declined."""
    session = serving.service.sessions.create(user_id="ann").id
    rows: list[tuple[str, str | None, str, str, str, float]] = [
        (f"op_{ms}", None, "bash", "success", _second(ms), ms / 1000) for ms in range(1, 21)
    ]
    rows.append(("op_no", "writer", "grep", "declined", "2026-11-21T10:00:00.000Z", 0.0))
    db = serving.service.db
    for operation_id, agent_id, tool, status, moment, seconds in rows:
        head = (operation_id, "c", session, None, agent_id, tool, "{}", status, moment)
        db.append(ADD_CALL, (*head, None, None, 1, 0, 0, None, None, seconds, None))
    asked = ("cf_1", session, None, "c_no", "op_no", "writer", "grep", "d", "approved")
    db.append(ADD_CONFIRMATION, (*asked, "{}", "{}", "2026-11-21T10:00:00.000Z", None))
    await db.flush()
    return serving


async def test_days_come_in_order_with_times_and_questions(
    client: httpx2.AsyncClient, called: Running
):
    report = (await client.get("/admin/usage/calls")).json()
    first, second = report["groups"]
    assert (first["key"], first["calls"], first["ran"]) == ("2026-11-20", 20, 20)
    assert first["p50_ms"] == pytest.approx(10, rel=0.01)
    assert first["p95_ms"] == pytest.approx(19, rel=0.01)
    assert (first["asked"], first["asked_per_100_calls"]) == (0, 0.0)
    assert second == {
        "key": "2026-11-21",
        "calls": 1,
        "statuses": {"declined": 1},
        "ran": 0,
        "p50_ms": None,
        "p95_ms": None,
        "asked": 1,
        "asked_per_100_calls": 100.0,
    }
    total = report["total"]
    assert (total["calls"], total["statuses"]) == (21, {"declined": 1, "success": 20})
    assert total["asked_per_100_calls"] == 4.76
    assert report["is_cut"] is False


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"by": "tool"}, ["bash", "grep"]),
        ({"by": "agent"}, ["default", "writer"]),
        ({"by": "tool", "since": "2026-11-21"}, ["grep"]),
        ({"by": "tool", "until": "2026-11-21"}, ["bash"]),
        ({"by": "tool", "agent_id": "writer"}, ["grep"]),
        ({"by": "tool", "agent_id": "default"}, ["bash"]),
        ({"agent_id": "nobody"}, []),
        ({"by": "tool", "since": "2026-11-20T10:00:05Z", "until": "2026-11-21"}, ["bash"]),
        ({"by": "tool", "since": "2026-11-20T10:00:05Z"}, ["bash", "grep"]),
        ({"by": "tool", "since": "2026-11-20T11:00:00Z"}, ["grep"]),
        ({"by": "tool", "until": "2026-11-21T10:00:00Z"}, ["bash"]),
        ({"by": "tool", "until": "2026-11-21T10:00:01Z"}, ["bash", "grep"]),
    ],
)
async def test_groups_and_filters(
    client: httpx2.AsyncClient, called: Running, wanted: dict[str, str], keys: list[str]
):
    report = (await client.get("/admin/usage/calls", params=wanted)).json()
    assert [group["key"] for group in report["groups"]] == keys


async def test_more_calls_in_a_part_of_a_day_than_are_counted_are_reported(
    client: httpx2.AsyncClient, called: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(call_statistics, "MAX_CALLS", 5)
    wanted = {"since": "2026-11-20T09:00:00Z", "by": "tool"}
    report = (await client.get("/admin/usage/calls", params=wanted)).json()
    assert (report["total"]["calls"], report["is_cut"]) == (6, True)
    assert report["groups"][0]["calls"] == 5
    whole = (await client.get("/admin/usage/calls", params={"since": "2026-11-20"})).json()
    assert (whole["total"]["calls"], whole["is_cut"]) == (21, False)


@pytest.mark.parametrize("wanted", [{"by": "colour"}, {"since": "yesterday"}, {"tool": "bash"}])
async def test_what_cannot_be_grouped_or_read_is_refused(
    client: httpx2.AsyncClient, wanted: dict[str, str]
):
    answer = await client.get("/admin/usage/calls", params=wanted)
    assert answer.status_code == 422
