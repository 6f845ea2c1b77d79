"""Large JSON is sent compressed, but to nobody who could learn something by its length."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from fastapi.openapi.utils import get_fields_from_routes, get_openapi

from app.api import openapi
from tests.api.rest.client import new_session
from tests.support.service import Running

GZIP = {"accept-encoding": "gzip"}


async def encoding_of(client: httpx2.AsyncClient, path: str, **headers: str) -> str | None:
    async with client.stream("GET", path, headers=GZIP | headers) as answer:
        assert answer.status_code == 200, path
        return answer.headers.get("content-encoding")


async def test_the_document_of_the_api_is_a_tenth_of_its_length(client: httpx2.AsyncClient):
    async with client.stream("GET", "/openapi.json", headers=GZIP) as answer:
        packed = b"".join([part async for part in answer.aiter_raw()])
    plain = await client.get("/openapi.json", headers={"accept-encoding": "identity"})

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed) == plain.content
    assert len(packed) * 10 < len(plain.content)


async def test_it_is_written_once(
    client: httpx2.AsyncClient, serving: Running, monkeypatch: pytest.MonkeyPatch
):
    async def asked(encoding: str) -> bytes:
        headers = {"accept-encoding": encoding}
        async with client.stream("GET", "/openapi.json", headers=headers) as answer:
            assert answer.status_code == 200
            return b"".join([part async for part in answer.aiter_raw()])

    first = [await asked(encoding) for encoding in ("gzip", "identity")]
    monkeypatch.setattr(serving.app, "openapi", None)
    monkeypatch.setattr(serving.app, "openapi_schema", None)
    assert [await asked(encoding) for encoding in ("gzip", "identity")] == first


class Maker:
    """Stands in for what makes the document: starts, and continues when it is allowed to."""

    def __init__(self, make: Callable[..., dict[str, Any]]) -> None:
        self._make = make
        self.began, self.may_go_on = threading.Event(), threading.Event()
        self.times = 0
        self.unbuilt: list[str] = []

    def __call__(self, **options: Any) -> dict[str, Any]:
        self.times += 1
        fields = get_fields_from_routes(options["routes"])
        self.unbuilt = [field.name for field in fields if not field._type_adapter.pydantic_complete]
        self.began.set()
        assert self.may_go_on.wait(60), "nothing else was answered meanwhile"
        return self._make(**options)


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Maker:
    made = Maker(get_openapi)
    monkeypatch.setattr(openapi, "get_openapi", made)
    return made


async def test_other_requests_are_answered_while_it_is_made(
    client: httpx2.AsyncClient, maker: Maker
):
    asked = [asyncio.create_task(client.get("/openapi.json")) for _ in range(3)]
    assert await asyncio.to_thread(maker.began.wait, 60)
    assert (await client.get("/health")).status_code == 200
    assert (await client.get("/tools/bash")).status_code == 200
    assert not any(task.done() for task in asked)
    maker.may_go_on.set()
    first, *others = [(await task).content for task in asked]

    assert b'"openapi"' in first
    assert others == [first, first]
    assert maker.times == 1
    assert maker.unbuilt == []


async def test_a_client_that_leaves_does_not_end_its_making(
    client: httpx2.AsyncClient, maker: Maker
):
    left = asyncio.create_task(client.get("/openapi.json"))
    assert await asyncio.to_thread(maker.began.wait, 60)
    left.cancel()
    await asyncio.wait({left})
    maker.may_go_on.set()

    assert (await client.get("/openapi.json")).status_code == 200
    assert maker.times == 1


async def test_when_making_it_fails_the_next_request_tries_again(
    client: httpx2.AsyncClient, serving: Running, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as broken:
        broken.setattr(serving.app, "openapi", None)
        assert (await client.get("/openapi.json")).status_code == 500
    assert (await client.get("/openapi.json")).status_code == 200


async def test_a_wrong_method_does_not_have_it_made(
    client: httpx2.AsyncClient, serving: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serving.app, "openapi", None)
    for path, allowed in (("/sessions/ses_1", "GET, PATCH"), ("/ready", "GET")):
        answer = await client.put(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


async def test_who_does_not_take_gzip_gets_none(client: httpx2.AsyncClient):
    accepted = ("identity", "gzip;q=0", "br", "gzip;q=x")
    got = {
        one: await encoding_of(client, "/openapi.json", **{"accept-encoding": one})
        for one in accepted
    }
    assert got == dict.fromkeys(accepted)


async def test_a_page_of_somebody_else_learns_nothing_by_lengths(client: httpx2.AsyncClient):
    same_origin, cookie = {"sec-fetch-site": "same-origin"}, {"cookie": "a=b"}
    assert await encoding_of(client, "/openapi.json", **same_origin, **cookie) == "gzip"
    for site in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"} | cookie,
        cookie,
    ):
        assert await encoding_of(client, "/openapi.json", **site) is None, site


async def test_streams_and_small_answers_stay_as_they_are(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    for path in (f"/sessions/{session_id}", f"/sessions/{session_id}/events/stream", "/me"):
        assert await encoding_of(client, path) is None, path
