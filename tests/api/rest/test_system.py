import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2

from tests.api.rest.client import call, problem
from tests.support.service import Running


async def test_health_names_what_is_there_and_what_is_not(client: httpx2.AsyncClient):
    health = (await client.get("/health")).json()

    assert (health["status"], health["database"]) == ("ok", "ok")
    assert health["model"] == {"configured": False}
    sandbox = health["sandbox"]
    assert set(sandbox["levels"]) == {"strict", "standard", "lenient", "bash"}
    assert sandbox["kernel"] is bool(sandbox["levels"]["bash"]["layers"])
    for level in sandbox["levels"].values():
        assert level["available"] or not level["minimum_met"]
        assert not set(level["layers"]) & set(level["missing"])
    assert health["uptime_s"] >= 0


@contextmanager
def without_a_table(path: Path) -> Iterator[None]:
    """Make every commit of events fail, and put things right at the end."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE events RENAME TO hidden")
        yield
        database.execute("ALTER TABLE hidden RENAME TO events")


async def test_a_service_that_cannot_write_is_alive_and_not_ready(
    serving: Running, client: httpx2.AsyncClient
):
    await call(client, "calculator", arguments={"expression": "1"})
    with without_a_table(serving.service.settings.database_path):
        refused = await problem(await client.post("/tools/calculator/call", json={}))
        ready = await problem(await client.get("/ready"))
        health = await client.get("/health")

    for reported in (refused, ready):
        assert (reported["status"], reported["code"], reported["retryable"]) == (
            503,
            "storage_unavailable",
            True,
        )
    assert (health.status_code, health.json()["status"]) == (200, "degraded")


async def test_figures_count_calls_by_tool_and_status(client: httpx2.AsyncClient):
    await call(client, "calculator", arguments={"expression": "1"})
    await call(client, "made_up_by_a_caller", arguments={})

    figures = (await client.get("/metrics")).text.splitlines()

    assert 'tollgate_tool_calls_total{status="success",tool="calculator"} 1.0' in figures
    assert 'tollgate_tool_calls_total{status="error",tool="unknown"} 1.0' in figures
    assert 'tollgate_tool_call_seconds_count{tool="calculator"} 1.0' in figures
    assert 'tollgate_runs_total{kind="success"} 2.0' in figures
    assert not any("made_up_by_a_caller" in line for line in figures)


async def test_the_default_project_is_listed(client: httpx2.AsyncClient):
    listed = (await client.get("/projects")).json()["projects"]

    assert [item["id"] for item in listed] == ["default"]
