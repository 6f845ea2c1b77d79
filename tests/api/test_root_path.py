"""Behind a reverse proxy, below a path of another service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import websockets

from app.core.errors import ConfigurationError
from tests.support.http import HttpClient
from tests.support.service import Running, serving, settings_for

ROOT = "/tools/gate"


@pytest.fixture
async def below(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path, root_path=ROOT)) as running:
        yield running


# A proxy takes the path off or leaves it.
@pytest.mark.parametrize("sent", [ROOT, ""])
async def test_everything_is_below_the_path(below: Running, sent: str):
    async with HttpClient(base_url=below.url) as client:
        health = await client.get(f"{sent}/api/v1/health")
        links = (await client.get(f"{sent}/")).json()["links"]
        made = await client.post(f"{sent}/api/v1/sessions", json={})
        document = (await client.get(f"{sent}/api/v1/openapi.json")).json()

    assert health.status_code == 200
    assert links["openapi"] == f"{ROOT}/api/v1/openapi.json"
    assert made.headers["location"] == f"{ROOT}/api/v1/sessions/{made.json()['id']}"
    assert document["servers"] == [{"url": ROOT}]


async def test_the_path_itself_leads_to_the_page(below: Running):
    async with HttpClient(base_url=below.url) as client:
        answer = await client.get(ROOT)

    assert answer.status_code == 307
    assert answer.headers["location"] == f"{ROOT}/"


async def test_the_socket_is_below_the_path(below: Running):
    url = below.url.replace("http", "ws", 1) + f"{ROOT}/api/v1/ws"
    async with websockets.connect(url) as socket:
        await socket.send('{"type": "hello", "id": "h"}')
        assert '"ready"' in str(await socket.recv())


@pytest.mark.parametrize("path", ["tools", "/tools/", "//x", "/a b", "/a/../b", '/"><script>'])
def test_a_root_path_that_is_none_is_refused(tmp_path: Path, path: str):
    with pytest.raises(ConfigurationError, match="root_path"):
        settings_for(tmp_path, root_path=path)
