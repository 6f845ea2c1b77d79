"""`Idempotency-Key`: what is sent again is not carried out twice, also after a restart."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from app.api import idempotency
from app.api.routes import every_route
from app.core.errors import StorageUnavailable
from tests.api.rest.client import new_session, problem
from tests.support.http import HttpClient
from tests.support.raw_clients import raw_client, request
from tests.support.server_process import Server, server
from tests.support.service import PATIENCE_S, Running, serving, settings_for

REPLAYED = "idempotency-replayed"
LARGE = 64 << 20
BASH: dict[str, Any] = {"arguments": {"command": "echo x >> log"}}


@pytest.fixture(autouse=True)
def brisk_purge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "PURGE_S", 0.01)


def keyed(key: str = "k-1") -> dict[str, str]:
    return {"Idempotency-Key": key}


async def test_a_request_sent_again_gets_the_answer_it_got(client: httpx2.AsyncClient):
    first = await client.post("/sessions", json={"title": "One"}, headers=keyed())
    again = await client.post("/sessions", json={"title": "One"}, headers=keyed())
    other = await client.post("/sessions", json={"title": "One"}, headers=keyed("k-2"))

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["content-type"] == first.headers["content-type"]
    assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")
    assert other.json()["id"] != first.json()["id"]


async def test_a_tool_runs_once_for_all_requests_of_one_key(running: Running, client: Any):
    log = running.service.settings.workspace_dir / "log"
    answers = [await client.post("/tools/bash/call", json=BASH, headers=keyed()) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].json() == answers[1].json() == answers[2].json()
    assert log.read_text() == "x\n"


@pytest.fixture
def running(serving: Running) -> Running:
    return serving


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sessions", {"title": "Two"}),
        ("/sessions?", {"title": "One "}),
        ("/tools/calls", {"calls": [{"name": "calculator"}]}),
    ],
)
async def test_a_key_of_another_request_is_refused(
    client: httpx2.AsyncClient, path: str, body: dict[str, Any]
):
    await client.post("/sessions", json={"title": "One"}, headers=keyed())
    reported = await problem(await client.post(path, json=body, headers=keyed()))

    assert (reported["status"], reported["code"]) == (422, "idempotency_key_reused")
    assert reported["details"]["errors"][0]["path"] == "header.Idempotency-Key"


async def test_a_request_is_in_flight_until_it_has_an_answer(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    slow = {"arguments": {"command": "touch begun; cat wait"}, "session_id": session_id}
    quick = {"arguments": {"command": "mkfifo wait"}, "session_id": session_id}
    await client.post("/tools/bash/call", json=quick)
    first = asyncio.create_task(client.post("/tools/bash/call", json=slow, headers=keyed()))
    while True:  # until the service has taken it up
        snapshot = (await client.get(f"/sessions/{session_id}/snapshot")).json()
        if snapshot["running_calls"]:
            break
    second = await client.post("/tools/bash/call", json=slow, headers=keyed())
    reported = await problem(second)
    run_id = snapshot["active_run"]["run_id"]
    await client.post(f"/sessions/{session_id}/runs/{run_id}/cancel")
    ended = await first
    again = await client.post("/tools/bash/call", json=slow, headers=keyed())

    assert (reported["status"], reported["code"], reported["retryable"]) == (
        409,
        "request_in_flight",
        True,
    )
    assert second.headers["retry-after"] == "1"
    assert again.json() == ended.json()


async def test_what_was_refused_may_be_sent_again(client: httpx2.AsyncClient):
    bad = await client.post("/sessions", json={"title": 7}, headers=keyed())
    missing = await client.post("/sessions", json={"project_id": "nope"}, headers=keyed())
    good = await client.post("/sessions", json={"title": "One"}, headers=keyed())

    assert (bad.status_code, missing.status_code, good.status_code) == (422, 404, 201)


async def test_a_refusal_that_is_final_is_given_again(client: httpx2.AsyncClient):
    await client.post("/admin/agents", json={"id": "writer"})
    first = await client.post("/admin/agents", json={"id": "writer"}, headers=keyed())
    await client.delete("/admin/agents/writer")
    again = await client.post("/admin/agents", json={"id": "writer"}, headers=keyed())

    assert (first.status_code, again.status_code) == (409, 409)
    assert again.json() == first.json()


@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE"])
async def test_every_change_heeds_the_key(client: httpx2.AsyncClient, method: str):
    session_id = await new_session(client)
    await client.post("/admin/agents", json={"id": "writer"})
    path = f"/sessions/{session_id}" if method == "PATCH" else "/admin/agents/writer"
    body = {"title": "New"} if method == "PATCH" else {}
    send: dict[str, Any] = {} if method == "DELETE" else {"json": body}
    first = await client.request(method, path, headers=keyed(), **send)
    again = await client.request(method, path, headers=keyed(), **send)

    assert again.status_code == first.status_code
    assert again.json() == first.json()
    assert first.status_code == 405 or again.headers.get(REPLAYED) == "true"


async def test_a_file_is_reported_from_another_of_its_size(client: httpx2.AsyncClient):
    session_id = await new_session(client, project_id="default")
    path = f"/sessions/{session_id}/files?name=a.txt"
    kind = {"content-type": "application/octet-stream"}
    first = await client.post(path, content=b"one", headers=keyed() | kind)
    again = await client.post(path, content=b"one", headers=keyed() | kind)
    other = await client.post(path, content=b"two", headers=keyed() | kind)

    assert first.json()["change"] == again.json()["change"] == "created"
    assert (await problem(other))["code"] == "idempotency_key_reused"


@pytest.mark.parametrize("value", ["", "a b", "x" * 256, '"', '"a', "é", '""'])
async def test_a_key_that_is_none_is_refused(client: httpx2.AsyncClient, value: str):
    raw = [(b"Idempotency-Key", value.encode())]
    reported = await problem(await client.post("/sessions", json={}, headers=raw))

    assert (reported["status"], reported["code"]) == (422, "validation_failed")
    assert reported["details"]["errors"][0]["path"] == "header.Idempotency-Key"


async def test_two_keys_are_refused(client: httpx2.AsyncClient):
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await client.post("/sessions", json={}, headers=headers)

    assert (await problem(answer))["code"] == "validation_failed"


async def test_a_key_means_the_same_with_and_without_quotes(client: httpx2.AsyncClient):
    plain = await client.post("/sessions", json={}, headers=keyed("k"))
    quoted = await client.post("/sessions", json={}, headers=keyed('"k"'))

    assert quoted.json() == plain.json()


async def test_nobody_gets_the_answer_of_somebody_else(tmp_path: Path):
    async with serving(settings_for(tmp_path, token="the-admin-token")) as running:
        secrets = [(await running.service.tokens.create("ann", ("chat",)))[0] for _ in range(2)]
        made = []
        for secret in secrets:
            headers = keyed() | {"Authorization": f"Bearer {secret}"}
            async with HttpClient(base_url=running.api, headers=headers) as client:
                made.append((await client.post("/sessions", json={})).json()["id"])
        async with HttpClient(base_url=running.api, headers=keyed()) as nobody:
            reported = await problem(await nobody.post("/sessions", json={}))

    assert made[0] != made[1]
    assert reported["code"] == "unauthenticated"


async def test_a_secret_is_stored_nowhere(running: Running, client: httpx2.AsyncClient):
    body = {"name": "ci", "scopes": ["chat"]}
    made = await client.post("/admin/tokens", json=body, headers=keyed())
    # From now on nobody comes in without a token.
    headers = {"Authorization": f"Bearer {made.json()['secret']}"}
    await running.service.db.flush()
    files = running.service.settings.data_dir.glob("tollgate.db*")

    assert made.status_code == 201
    assert (await client.get("/me", headers=headers)).status_code == 200
    assert all(made.json()["secret"].encode() not in file.read_bytes() for file in files)


async def test_what_held_a_secret_is_neither_done_again_nor_shown_again(
    client: httpx2.AsyncClient,
):
    first = await client.post("/ws-tickets", headers=keyed())
    reported = await problem(await client.post("/ws-tickets", headers=keyed()))

    assert first.status_code == 201
    assert (reported["status"], reported["code"]) == (409, "answer_not_kept")
    assert reported["details"] == {"status": 201}


def test_every_answer_with_a_secret_says_so():
    """Whatever names a field like one is marked, or it would be stored."""
    holding = []
    for route in every_route():
        if not isinstance(route, APIRoute) or "GET" in (route.methods or ()):
            continue
        fields = getattr(route.response_model, "model_fields", {})
        marked = any(
            item.dependency.__module__ == "app.api.rest.one_time" for item in route.dependencies
        )
        if {"secret", "token", "ticket", "password", "csrf_token"} & fields.keys() and not marked:
            holding.append(route.path)

    assert holding == ["/api/v1/login"]


async def test_nothing_is_begun_that_cannot_be_written_down(
    running: Running, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    db = running.service.db
    flush = db.flush

    async def refuse() -> None:
        raise StorageUnavailable("The disk is full")

    monkeypatch.setattr(db, "flush", refuse)
    refused = await client.post("/tools/bash/call", json=BASH, headers=keyed())
    monkeypatch.setattr(db, "flush", flush)
    taken = await client.post("/tools/bash/call", json=BASH, headers=keyed())

    assert (refused.status_code, taken.status_code) == (503, 200)
    assert (running.service.settings.workspace_dir / "log").read_text() == "x\n"


async def test_an_answer_is_stored_no_longer_than_it_is_given_again(
    running: Running, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(idempotency, "KEPT_S", 0.0)
    answer = await client.post("/sessions", json={"title": "Mine alone"}, headers=keyed())
    assert answer.status_code == 201
    async with asyncio.timeout(PATIENCE_S):
        while stored_keys(running.service.settings.database_path):
            await client.get("/health")


async def test_answers_of_a_former_service_are_removed_at_the_start(tmp_path: Path):
    settings = settings_for(tmp_path)
    store(settings.database_path, b"old", until=0.0)
    async with serving(settings) as running, HttpClient(base_url=running.api) as client:
        async with asyncio.timeout(PATIENCE_S):
            while stored_keys(settings.database_path):
                await client.get("/health")


async def test_what_is_known_again_after_a_start_is_not_every_answer(tmp_path: Path):
    settings = settings_for(tmp_path)
    store(settings.database_path, bytes(LARGE), until=4e9)
    async with serving(settings) as running, HttpClient(base_url=running.api) as client:
        tracemalloc.start()
        try:
            await client.post("/sessions", json={}, headers=keyed("k-2"))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        reported = await problem(await client.post("/sessions", json={}, headers=keyed()))

    assert peak < LARGE
    assert reported["code"] == "idempotency_key_reused"


async def test_an_upload_that_broke_off_may_be_sent_again(
    running: Running, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
):
    session_id = await new_session(client, project_id="default")
    path = f"/sessions/{session_id}/files?name=a.txt"
    kind = {"Content-Type": "application/octet-stream"} | keyed()
    lines = [f"{name}: {value}" for name, value in (kind | {"Content-Length": "6"}).items()]
    async with raw_client(running.url) as broken:
        head = request(f"/api/v1{path}", *lines, "Expect: 100-continue", method="POST")
        await broken.send(head)
        await broken.reader.readuntil(b"100 Continue\r\n\r\n")
        await broken.send("one")
    while True:  # until the service has seen that it broke off
        again = await client.post(path, content=b"onetwo", headers=kind)
        if again.status_code != 409:
            break
        assert (await problem(again))["code"] == "request_in_flight"

    assert (again.status_code, again.json()["change"]) == (200, "created")
    assert "failed unexpectedly" not in caplog.text


async def test_what_was_done_and_cannot_be_written_down_is_not_done_again(
    running: Running, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: Any, **__: Any) -> None:
        raise StorageUnavailable("Too many rows wait")

    monkeypatch.setattr(running.app.state.keys, "keep", refuse)
    first = await client.post("/tools/bash/call", json=BASH, headers=keyed())
    monkeypatch.undo()
    again = await problem(await client.post("/tools/bash/call", json=BASH, headers=keyed()))

    assert (first.status_code, again["code"]) == (503, "outcome_unknown")
    assert (running.service.settings.workspace_dir / "log").read_text() == "x\n"


def store(path: Path, answer: bytes, *, until: float) -> None:
    """Put an answer there, as a former service would have."""
    row = ("rest", "local", "k-1", "another", 200, answer, until)
    with closing(sqlite3.connect(path)) as database, database:
        marks = ", ".join("?" for _ in row)
        database.execute(f"INSERT INTO idempotency_keys VALUES ({marks})", row)


def stored_keys(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT key FROM idempotency_keys").fetchall()


async def post(running: Server, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
    async with HttpClient(base_url=f"{running.url}/api/v1", headers=headers) as client:
        return await client.post(path, json=body)


async def test_a_killed_service_remembers_what_it_has_answered(tmp_path: Path):
    async with server(tmp_path) as first:
        begun = await post(first, "/tools/bash/call", BASH, **keyed())
        await first.kill()
    async with server(tmp_path) as second:
        again = await post(second, "/tools/bash/call", BASH, **keyed())
        other = await post(second, "/tools/bash/call", {"arguments": {}}, **keyed())

    assert again.json() == begun.json()
    assert again.headers[REPLAYED] == "true"
    assert (await problem(other))["code"] == "idempotency_key_reused"
    assert (tmp_path / "data" / "workspace" / "log").read_text() == "x\n"


async def test_what_a_killed_service_had_begun_is_not_begun_again(tmp_path: Path):
    body = {"arguments": {"command": "echo x >> log; echo > begun; sleep 60"}}
    workspace = tmp_path / "data" / "workspace"
    async with server(tmp_path) as first:
        os.mkfifo(workspace / "begun")
        asked = asyncio.create_task(post(first, "/tools/bash/call", body, **keyed()))
        await asyncio.to_thread((workspace / "begun").read_text)
        await first.kill()
        with pytest.raises(httpx2.TransportError):
            await asked
    async with server(tmp_path) as second:
        reported = await problem(await post(second, "/tools/bash/call", body, **keyed()))
        fresh = await post(second, "/tools/bash/call", BASH, **keyed("k-2"))

    assert (reported["status"], reported["code"]) == (409, "outcome_unknown")
    assert fresh.status_code == 200
    assert (workspace / "log").read_text() == "x\n" * 2
