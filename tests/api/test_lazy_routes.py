"""Requests that come before the routes are there, and routes that cannot come."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from app.api.app import create_app
from app.api.lazy_routes import LazyRoutes
from app.api.rest import health
from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.core.errors import TollgateError
from tests.api.people import holding, user
from tests.api.rest.client import problem
from tests.support.http import HttpClient
from tests.support.service import PATIENCE_S, Running, serving, settings_for

OWNER = "operator-secret-0123456789"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, anthropic_api_key=None, allow_anonymous=False, token=OWNER)


class HeldRoutes(LazyRoutes):
    """All routes of an application but health, which come when they are let go."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(app.router, self._when_free)
        self.app = app
        self.free = threading.Event()
        self.error: Exception | None = None
        self.times_read = 0
        self._routes = tuple(app.routes)
        self._arrived = asyncio.Semaphore(0)
        app.router.routes[:] = (*health.router.routes, self)
        app.state.later = self

    def _when_free(self) -> Sequence[BaseRoute]:
        self.times_read += 1
        assert self.free.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        return self._routes

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._arrived.release()
        await super().handle(scope, receive, send)

    async def arrivals(self, count: int = 1) -> None:
        """Return when so many requests have come to wait."""
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(count):
                await self._arrived.acquire()


@pytest.fixture
def held(settings: Settings) -> HeldRoutes:
    return HeldRoutes(create_app(settings, partial(open_service, settings)))


@pytest.fixture
async def running(settings: Settings, held: HeldRoutes) -> AsyncIterator[Running]:
    async with serving(settings, app=held.app, on_leave=held.free.set) as running:
        yield running


RULES = "/admin/rules"
LONG = b'{"title": "' + b"x" * (9 << 20) + b'"}'
Asked = tuple[int, str, str, str, dict[str, Any]]
EARLY: list[Asked] = [
    (200, "owner", "GET", RULES, {}),
    (422, "owner", "GET", RULES, {"params": {"made_up": "1"}}),
    (422, "owner", "POST", RULES, {"json": {"made_up": 1}}),
    (403, "member", "GET", RULES, {}),
    (403, "member", "POST", RULES, {"json": {"made_up": 1}}),
    (401, "nobody", "GET", RULES, {}),
    (401, "nobody", "POST", RULES, {"json": {"made_up": 1}}),
    (404, "owner", "GET", "/admin/made-up", {}),
    (404, "nobody", "GET", "/admin/made-up", {}),
    (405, "owner", "DELETE", RULES, {}),
    (405, "owner", "HEAD", RULES, {}),
    (405, "owner", "OPTIONS", RULES, {}),
    (405, "nobody", "POST", "/health", {}),
    (200, "nobody", "GET", "/ready", {}),
    (200, "nobody", "GET", "/openapi.json", {}),
    (200, "member", "GET", "/sessions", {}),
]


async def test_early_requests_wait_and_are_answered_as_late_ones(
    running: Running, held: HeldRoutes
):
    async with (
        holding(running, OWNER) as owner,
        user(running, "ann") as member,
        HttpClient(base_url=running.api) as nobody,
    ):
        clients = {"owner": owner, "member": member, "nobody": nobody}

        async def ask(asked: Asked) -> Any:
            _, who, method, path, options = asked
            answer = await clients[who].request(method, path, **options)
            return answer.status_code, answer.headers, answer.content

        early = [asyncio.create_task(ask(asked)) for asked in EARLY]
        await held.arrivals(len(EARLY))
        alive = await nobody.get("/health")
        assert not any(task.done() for task in early)
        held.free.set()
        first = [await task for task in early]
        second = [await ask(asked) for asked in EARLY]

    assert alive.status_code == 200
    assert [status for status, *_ in first] == [expected for expected, *_ in EARLY]
    assert first == second
    assert held.times_read == 1


async def test_the_body_of_an_early_request_is_not_lost(running: Running, held: HeldRoutes):
    async with user(running, "ann") as member:
        early = asyncio.create_task(member.post("/sessions", json={"title": "kept"}))
        await held.arrivals()
        held.free.set()
        answer = await early

    assert (answer.status_code, answer.json()["title"]) == (201, "kept")


async def test_what_is_refused_at_the_door_does_not_wait(running: Running):
    async with holding(running, OWNER) as owner:
        foreign = await owner.post(RULES, json={}, headers={"origin": "https://evil.example"})
        misled = await owner.get(RULES, headers={"host": "evil.example"})
        large = await owner.post("/sessions", content=LONG)

    answers = (foreign, misled, large)
    assert [(await problem(answer))["status"] for answer in answers] == [403, 403, 413]


async def test_an_early_websocket_waits_as_well(running: Running, held: HeldRoutes):
    async def greeted() -> str:
        headers = {"authorization": f"Bearer {OWNER}"}
        async with running.connect(additional_headers=headers) as chat:
            return str(chat.seen[0]["type"])

    early = asyncio.create_task(greeted())
    await held.arrivals()
    held.free.set()

    assert await early == "ready"


async def test_who_gives_up_waiting_does_not_stop_the_others(running: Running, held: HeldRoutes):
    impatient = asyncio.create_task(held.loaded())
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    held.free.set()
    await held.loaded()

    async with holding(running, OWNER) as owner:
        assert (await owner.get(RULES)).status_code == 200
    assert held.times_read == 1


async def test_who_waits_when_the_service_leaves_is_still_answered(
    settings: Settings, held: HeldRoutes
):
    async with serving(settings, app=held.app, on_leave=held.free.set) as running:
        client = HttpClient(base_url=running.api)
        early = asyncio.create_task(client.get("/ready"))
        await held.arrivals()

    assert (await early).status_code == 200
    await client.aclose()


async def test_routes_that_cannot_be_loaded_are_errors_and_end_the_service(
    settings: Settings, held: HeldRoutes, caplog: pytest.LogCaptureFixture
):
    held.error = ImportError("a damaged file")
    answers = []

    async def visited() -> None:
        async with (
            serving(settings, app=held.app, on_leave=held.free.set) as running,
            HttpClient(base_url=running.api) as client,
        ):
            early = asyncio.create_task(client.get(RULES))
            await held.arrivals()
            held.free.set()
            answers.append(await early)

    with pytest.raises(TollgateError, match="see its log"):
        await visited()

    assert (await problem(answers[0]))["code"] == "internal"
    reported = [record for record in caplog.records if record.levelno == logging.CRITICAL]
    assert [record.exc_info[1] for record in reported if record.exc_info] == [held.error]


def test_routes_that_come_later_are_those_of_a_whole_application(settings: Settings):
    whole = create_app(settings, partial(open_service, settings))
    later = create_app(settings, partial(open_service, settings), whole=False)
    assert [getattr(route, "path", None) for route in later.routes] == ["/api/v1/health", None]

    later.state.later.load()

    assert len(whole.routes) > 160
    assert [route for route in later.routes if route not in whole.routes] == [later.routes[0]]
    assert later.openapi() == whole.openapi()


async def test_a_request_with_a_key_waits_too_before_it_is_looked_up(
    running: Running, held: HeldRoutes, monkeypatch: pytest.MonkeyPatch
):
    """The toolkit of the database is read with the routes, and not in two threads at once."""
    waiting, loaded = asyncio.Event(), held.loaded

    async def noted() -> None:
        waiting.set()
        await loaded()

    monkeypatch.setattr(held, "loaded", noted)
    async with holding(running, OWNER) as owner:
        headers = {"Idempotency-Key": "k"}
        early = asyncio.create_task(owner.post("/sessions", json={}, headers=headers))
        async with asyncio.timeout(PATIENCE_S):
            await waiting.wait()
        assert "database" not in vars(running.service.reading)
        held.free.set()
        assert (await early).status_code == 201
