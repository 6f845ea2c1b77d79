"""Data sources over REST, and what agents asked them."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.sources import SourceSettings
from tests.api.rest.client import call, problem
from tests.support.http import HttpClient
from tests.support.service import Running, serving, settings_for

SECRET = "never-answered-pass-77"
SERVER: dict[str, Any] = {
    "name": "Server",
    "kind": "mysql",
    "host": "127.0.0.1",
    "port": 1,
    "user": "reader",
    "password": SECRET,
    "tls": "off",
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    files = tmp_path / "files"
    files.mkdir()
    with closing(sqlite3.connect(files / "shop.db")) as raw:
        raw.executescript(
            "CREATE TABLE customers (customerId INTEGER PRIMARY KEY, fullName TEXT, email TEXT);"
            "INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org');"
            "CREATE TABLE hidden (a);"
        )
    folder = tmp_path / "data"
    folder.mkdir()
    chosen = SourceSettings(sqlite_folders=[files])
    async with serving(settings_for(folder, sources=chosen)) as service:
        yield service


@pytest.fixture
async def client(running: Running) -> AsyncIterator[httpx2.AsyncClient]:
    async with HttpClient(base_url=running.api) as opened:
        yield opened


@pytest.fixture
async def shop(client: httpx2.AsyncClient, tmp_path: Path) -> dict[str, Any]:
    body = {
        "name": "Shop",
        "kind": "sqlite",
        "file": str(tmp_path / "files" / "shop.db"),
        "tables": [{"schema": "main", "name": "customers", "masked": ["email"]}],
        "agents": ["*"],
    }
    answer = await client.post("/admin/data-sources", json=body)
    assert (answer.status_code, answer.headers["etag"]) == (201, '"1"')
    made: dict[str, Any] = answer.json()
    assert answer.headers["location"].endswith(made["id"])
    return made


@pytest.mark.requirement("SQL-10")
async def test_a_source_is_made_changed_and_forgotten(client: httpx2.AsyncClient):
    made = (await client.post("/admin/data-sources", json=SERVER)).json()
    path = f"/admin/data-sources/{made['id']}"
    assert (made["password_set"], "password" in made) == (True, False)
    table = {"schema": "shop", "name": "orders", "masked": ["cardNumber"]}
    change = {"tables": [table], "agents": ["support"], "limits": {"max_rows": 50}}
    changed = await client.patch(path, json=change, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert changed.json()["tables"] == [table]
    assert changed.json()["limits"] == {
        "max_rows": 50,
        "max_bytes": 1_000_000,
        "statement_s": 15.0,
    }
    assert (await client.get(path)).json() == changed.json()
    late = await client.patch(path, json={"name": "X"}, headers={"If-Match": '"1"'})
    assert late.status_code == 412
    assert (await client.delete(path)).json()["name"] == "Server"
    assert (await client.get(path)).status_code == 404


async def test_sources_are_listed_page_by_page(client: httpx2.AsyncClient, shop: dict[str, Any]):
    await client.post("/admin/data-sources", json=SERVER)
    first = (await client.get("/admin/data-sources", params={"limit": 1})).json()
    assert ([item["name"] for item in first["sources"]], first["total"]) == (["Server"], 2)
    rest = await client.get("/admin/data-sources", params={"after": first["next_after"]})
    assert rest.json()["sources"] == [shop]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"host": None}, "host"),
        ({"unix_socket": "/run/x"}, "host"),
        ({"host": "a,b"}, "host"),
        ({"user": None}, "user"),
        ({"agents": ["a b"]}, "agents"),
        ({"file": "/a.db"}, "file"),
    ],
)
async def test_what_does_not_fit_is_refused_by_name(
    client: httpx2.AsyncClient, body: dict[str, Any], field: str
):
    answer = await client.post("/admin/data-sources", json=SERVER | body)
    assert answer.status_code == 422
    assert (await problem(answer))["details"]["field"] == field
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        {"port": "3306"},
        {"kind": "oracle"},
        {"tls": "maybe"},
        {"limits": {"max_rows": 1001}},
        {"tables": [{"schema": "a", "name": ""}]},
        {"passwort": SECRET},
        {"password": [SECRET]},
    ],
)
async def test_a_bad_body_is_refused_without_repeating_the_password(
    client: httpx2.AsyncClient, body: dict[str, Any]
):
    answer = await client.post("/admin/data-sources", json=SERVER | body)
    assert answer.status_code == 422
    assert SECRET not in answer.text


async def test_a_test_tells_what_works_and_what_is_to_be_mended(
    client: httpx2.AsyncClient, shop: dict[str, Any]
):
    good = (await client.post(f"/admin/data-sources/{shop['id']}/test")).json()
    assert (good["ok"], good["can_write"], good["warnings"]) == (True, False, [])
    assert good["server"].startswith("SQLite 3.")
    assert good["latency_ms"] > 0
    tables = [
        {"schema": "main", "name": "customers", "masked": ["mail"]},
        {"schema": "main", "name": "gone"},
    ]
    await client.patch(f"/admin/data-sources/{shop['id']}", json={"tables": tables, "agents": []})
    reported = (await client.post(f"/admin/data-sources/{shop['id']}/test")).json()
    assert reported["warnings"] == [
        "The table main.gone does not exist.",
        "The mask main.customers.mail matches no column: its table cannot be read.",
        "No agent may read it yet.",
    ]
    codes = ["source_table_missing", "source_mask_missing", "source_no_agents"]
    assert reported["warning_codes"] == codes


async def test_a_server_that_is_not_there_fails_its_test_without_its_secrets(
    client: httpx2.AsyncClient,
):
    made = (await client.post("/admin/data-sources", json=SERVER)).json()
    answer = await client.post(f"/admin/data-sources/{made['id']}/test")
    assert (answer.status_code, answer.json()["ok"]) == (200, False)
    assert "is unreachable" in answer.json()["error"]
    assert answer.json()["error_code"] == "source_unreachable"
    listed = await client.get(f"/admin/data-sources/{made['id']}/tables")
    assert (listed.status_code, (await problem(listed))["code"]) == (409, "conflict")
    assert SECRET not in answer.text + listed.text


async def test_tables_are_discovered_for_an_administrator_to_choose(
    client: httpx2.AsyncClient, shop: dict[str, Any]
):
    found = (await client.get(f"/admin/data-sources/{shop['id']}/tables")).json()
    assert (found["total"], found["cut"]) == (2, False)
    customers, hidden = found["tables"]
    assert (customers["name"], customers["allowed"], hidden["allowed"]) == (
        "customers",
        True,
        False,
    )
    assert [column["name"] for column in customers["columns"] if column["masked"]] == ["email"]


async def test_queries_are_listed_and_filtered(client: httpx2.AsyncClient, shop: dict[str, Any]):
    for sql in ("SELECT fullName FROM customers", "SELECT email FROM customers"):
        await call(client, "sql_query", arguments={"source_id": shop["id"], "sql": sql})
    everything = (await client.get("/admin/audit/queries")).json()["rows"]
    assert [row["verdict"] for row in everything] == ["refused", "allowed"]
    assert (everything[1]["tables"], everything[1]["rows"]) == (["main.customers"], 1)
    for wanted, count in (
        ({"verdict": "refused"}, 1),
        ({"source_id": shop["id"]}, 2),
        ({"agent_id": "nobody"}, 0),
        ({"since": "2020-01-01", "until": "2020-01-02"}, 0),
    ):
        found = (await client.get("/admin/audit/queries", params=wanted)).json()["rows"]
        assert len(found) == count
    page = (await client.get("/admin/audit/queries", params={"limit": 1})).json()
    params = {"before": page["next_before"]}
    rest = (await client.get("/admin/audit/queries", params=params)).json()
    assert [row["verdict"] for row in rest["rows"]] == ["allowed"]
    assert (await client.get("/admin/audit/queries", params={"verdict": "x"})).status_code == 422


async def test_keys_are_rotated(client: httpx2.AsyncClient):
    await client.post("/admin/data-sources", json=SERVER)
    answer = await client.post("/admin/data-sources/keys/rotate")
    assert (answer.status_code, answer.json()) == (200, {"sealed": 1})


async def test_no_answer_and_no_event_holds_the_password(
    client: httpx2.AsyncClient, running: Running
):
    made = (await client.post("/admin/data-sources", json=SERVER)).json()
    path = f"/admin/data-sources/{made['id']}"
    answers = [
        await client.get("/admin/data-sources"),
        await client.get(path),
        await client.patch(path, json={"port": 2}),
        await client.patch(path, json={"port": 2, "password": "second-pass-78"}),
        await client.post(f"{path}/test"),
        await client.get("/admin/audit"),
        await client.get("/admin/audit/export"),
        await client.delete(path),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 422, 200, 200, 200, 200, 200]
    reported = "".join(answer.text for answer in answers)
    assert SECRET not in reported
    assert "second-pass-78" not in reported
