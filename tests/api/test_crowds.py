"""What keeps the service answering when much comes at once."""

from __future__ import annotations

import asyncio

import fastapi.routing
import pytest
from fastapi import APIRouter
from starlette.types import Message, Receive, Scope, Send

from app.api.rest.middleware import SameSite
from tests.support.http import HttpClient
from tests.support.service import Running

CROWD = 100


async def nothing_to_read() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def unread(_: Message) -> None:
    """Take an answer."""


def request(serving: Running, method: str) -> Scope:
    host = serving.url.removeprefix("http://").encode()
    return {
        "type": "http",
        "method": method,
        "path": "/",
        "headers": [(b"host", host)],
        "app": serving.app,
    }


async def test_a_crowd_of_changes_lets_pass_what_only_reads(serving: Running):
    begun: list[str] = []

    async def note(scope: Scope, _receive: Receive, _send: Send) -> None:
        begun.append(scope["method"])

    same_site = SameSite(note)

    async def ask(method: str) -> None:
        await same_site(request(serving, method), nothing_to_read, unread)

    changes = [asyncio.create_task(ask("POST")) for _ in range(CROWD)]
    await asyncio.sleep(0)
    await ask("GET")
    assert begun.count("POST") < 5
    await asyncio.gather(*changes)
    assert sorted(begun) == ["GET"] + ["POST"] * CROWD


async def test_whoever_may_not_ask_is_refused_in_a_crowd_too(serving: Running):
    async def unreached(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise AssertionError("a foreign page came through")

    same_site = SameSite(unreached)
    refused: list[int] = []

    async def note(message: Message) -> None:
        if message["type"] == "http.response.start":
            refused.append(message["status"])

    scope = request(serving, "POST")
    scope["headers"].append((b"origin", b"https://elsewhere.example"))
    await asyncio.gather(*(same_site(dict(scope), nothing_to_read, note) for _ in range(CROWD)))
    assert refused == [403] * CROWD


async def test_no_request_waits_until_routes_are_built(
    serving: Running, monkeypatch: pytest.MonkeyPatch
):
    built: list[object] = []

    def late(**asked: object) -> object:
        built.append(asked)
        raise AssertionError("a route is built while somebody waits for its answer")

    monkeypatch.setattr(fastapi.routing, "get_dependant", late)
    with pytest.raises(AssertionError, match="a route is built"):
        APIRouter().add_api_route("/", nothing_to_read)
    async with HttpClient(base_url=serving.api) as client:
        for path in ("/health", "/sessions", "/tools", "/confirmations"):
            assert (await client.get(path)).status_code == 200
        assert (await client.post("/sessions", json={})).status_code == 201
    assert len(built) == 1
