"""A request must name one host, and one of ours, at every door."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.test_slow_clients import UPGRADE
from tests.support.asked import asking
from tests.support.raw_clients import raw_client, request
from tests.support.service import serving, settings_for

ROOT = "/tollgate"
HTML = "Accept: text/html"
DOORS = {
    "health": request("/api/v1/health", host="{host}"),
    "ready": request("/api/v1/ready", host="{host}"),
    "figures": request("/api/v1/metrics", host="{host}"),
    "OpenAPI": request("/api/v1/openapi.json", host="{host}"),
    "REST": request("/api/v1/sessions", host="{host}"),
    "a change": request("/api/v1/sessions", "Content-Length: 0", method="POST", host="{host}"),
    "sign-in": request("/api/v1/login", "Content-Length: 0", method="POST", host="{host}"),
    "webhook": request("/api/v1/hooks/x", "Content-Length: 0", method="POST", host="{host}"),
    "page": request("/", HTML, host="{host}"),
    "file of a page": request("/favicon.svg", host="{host}"),
    "WebSocket": request("/api/v1/ws", *UPGRADE, host="{host}"),
    "operator's WebSocket": request("/api/v1/desktop/ws", *UPGRADE, host="{host}"),
    "a WebSocket that is nowhere": request("/elsewhere", *UPGRADE, host="{host}"),
    "nothing": request("/api/v2/nothing", host="{host}"),
}
FOREIGN = (
    *("evil.example", "127.0.0.1.evil.example", "127.0.0.1:80:evil.example", "127.0.0.1@evil"),
    *("localhost:evil", "evil.example#localhost", "[::1]evil.example", "[::1", "", "127.0.0.1:"),
)


@pytest.mark.parametrize("door", DOORS)
async def test_no_door_opens_for_a_foreign_host(tmp_path: Path, door: str):
    async with serving(settings_for(tmp_path)) as running:
        for host in FOREIGN:
            async with raw_client(running.url) as client:
                await client.send(DOORS[door].replace("{host}", host))
                assert (await client.answer()).status == 403, host


@pytest.mark.parametrize("path", [ROOT, f"{ROOT}/", f"{ROOT}/api/v1/health", "/api/v1/health"])
async def test_no_door_opens_for_a_foreign_host_below_a_path(tmp_path: Path, path: str):
    settings = settings_for(tmp_path, root_path=ROOT)
    async with serving(settings) as running, raw_client(running.url) as client:
        await client.send(request(path, HTML, host="evil.example"))
        assert (await client.answer()).status == 403


async def test_a_foreign_host_does_not_learn_what_is_wrong(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, asking(running.url) as asked:
        running.service.settings.database_path.unlink()
        await asked.until("database_lost")
        for host, status in (("evil.example", 403), ("127.0.0.1", 503)):
            async with raw_client(running.url) as client:
                await client.send(request("/api/v1/sessions", host=host))
                answer = await client.answer()
            assert (answer.status, answer.headers["cache-control"]) == (status, "no-store")
            assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("door", DOORS)
async def test_no_door_opens_for_two_hosts(tmp_path: Path, door: str):
    text = DOORS[door].replace("{host}", "127.0.0.1\r\nHost: evil.example")
    async with serving(settings_for(tmp_path)) as running, raw_client(running.url) as client:
        await client.send(text)
        assert (await client.answer()).status in (400, 403)


@pytest.mark.parametrize("target", ["http://evil.example/api/v1/health", "evil.example:443", "*"])
async def test_a_target_that_names_a_host_itself_is_refused(tmp_path: Path, target: str):
    async with serving(settings_for(tmp_path)) as running, raw_client(running.url) as client:
        await client.send(request(target, method="OPTIONS" if target == "*" else "GET"))
        assert (await client.answer()).status == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:8420", "[::1]:1", "tools.example"])
async def test_every_name_of_ours_is_let_in(tmp_path: Path, host: str):
    settings = settings_for(tmp_path, allowed_hosts=["Tools.example"])
    async with serving(settings) as running, raw_client(running.url) as client:
        await client.send(request("/api/v1/health", host=host))
        assert (await client.answer()).status == 200


@pytest.mark.parametrize("path", ["/api/v1/ws", "/api/v1/desktop/ws"])
async def test_a_websocket_that_came_without_upgrade_is_reported_what_is_missing(
    tmp_path: Path, path: str
):
    async with serving(settings_for(tmp_path)) as running, raw_client(running.url) as client:
        await client.send(request(path))
        answer = await client.answer()
        assert (answer.status, answer.problem["code"]) == (426, "upgrade_required")
        assert answer.headers["upgrade"] == "websocket"
        assert "docs/reverse-proxy.md" in answer.problem["detail"]
