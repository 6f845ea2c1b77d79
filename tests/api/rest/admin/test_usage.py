"""Tokens and cost, as operators see them."""

from __future__ import annotations

import httpx2
import pytest

from app.db.statements import ADD_RUN, FINISH_RUN
from tests.support.service import Running

_USAGE = '{"input_tokens":100,"output_tokens":10,"cost":0.5}'


@pytest.fixture
async def used(serving: Running) -> Running:
    """Two runs of one agent on two days, and one without an agent."""
    service = serving.service
    session = service.sessions.create(user_id="ann")
    rows = [
        ("run_a", "writer", _USAGE, "2026-11-20T10:00:00.000Z"),
        ("run_b", "writer", _USAGE, "2026-11-21T10:00:00.000Z"),
        ("run_c", None, '{"input_tokens":7}', "2026-11-21T11:00:00.000Z"),
        ("run_d", None, "{}", "2026-11-21T12:00:00.000Z"),
    ]
    for name, agent_id, _, moment in rows:
        row = (name, session.id, "message", "running", agent_id, "m", None, None, moment)
        service.db.append(ADD_RUN, row)
    await service.db.flush()
    for name, _, usage, moment in rows:
        service.db.append(FINISH_RUN, ("success", None, None, usage, moment, name))
    await service.db.flush()
    return serving


async def test_usage_is_grouped_and_totalled(client: httpx2.AsyncClient, used: Running):
    report = (await client.get("/admin/usage")).json()
    groups = {group["key"]: group for group in report["groups"]}
    assert (groups["writer"]["runs"], groups["writer"]["cost"]) == (2, 1.0)
    assert groups["default"]["unpriced_tokens"] == 7
    assert report["total"]["input_tokens"] == 207
    assert report["is_cut"] is False


async def test_a_time_and_an_agent_narrow_it_down(client: httpx2.AsyncClient, used: Running):
    wanted = {"by": "day", "agent_id": "writer", "since": "2026-11-21"}
    report = (await client.get("/admin/usage", params=wanted)).json()
    assert [(group["key"], group["runs"]) for group in report["groups"]] == [("2026-11-21", 1)]


@pytest.mark.parametrize("wanted", [{"by": "colour"}, {"since": "yesterday"}])
async def test_what_cannot_be_grouped_or_read_is_refused(
    client: httpx2.AsyncClient, wanted: dict[str, str]
):
    answer = await client.get("/admin/usage", params=wanted)
    assert answer.status_code == 422
