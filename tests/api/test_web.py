"""The browser interface as it is served: a small built folder stands in for the real one."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.api.web import WebPages
from tests.support.http import HttpClient
from tests.support.service import Running

HTML = {"accept": "text/html,*/*"}
SCRIPT = b"console.log('hello')\n" * 40


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    page = '<!doctype html><title>Built</title><script src="./assets/index-1a2b.js"></script>'
    (folder / "index.html").write_text(page)
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "manifest.webmanifest").write_text("{}")
    (folder / "service-worker.js").write_text("")
    (folder / ".stamp.json").write_text("{}")
    (folder / "assets" / "index-1a2b.js").write_bytes(SCRIPT)
    (folder / "assets" / "index-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT))
    (tmp_path / "secret.txt").write_text("outside")
    (folder / "leak.txt").symlink_to(tmp_path / "secret.txt")
    return folder


@pytest.fixture
async def client(dist: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with _client(dist) as client:
        yield client


def _client(folder: Path, root_path: str = "") -> httpx2.AsyncClient:
    async def behind(_: object) -> PlainTextResponse:
        return PlainTextResponse("the app")

    app = Starlette(routes=[Route("/{path:path}", behind, methods=["GET", "POST"])])
    transport = httpx2.ASGITransport(app=WebPages(app, folder, root_path=root_path))
    return HttpClient(transport=transport, base_url="http://tollgate")


@pytest.mark.parametrize("path", ["/" + "a" * 300, "/a" * 4000, f"/assets/{'a' * 253}"])
async def test_no_name_is_too_long(client: httpx2.AsyncClient, path: str):
    answer = await client.get(path)
    assert (answer.status_code, answer.text) == (200, "the app")


@pytest.mark.parametrize("path", ["/", "/chat", "/chat/ses_1", "/admin/tools", "/index.html"])
async def test_every_page_is_the_one_document(client: httpx2.AsyncClient, path: str):
    answer = await client.get(path, headers=HTML)

    assert answer.status_code == 200
    assert "<title>Built</title>" in answer.text
    assert answer.headers["cache-control"] == "no-cache"


async def test_a_page_runs_no_script_and_no_style_but_its_own(client: httpx2.AsyncClient):
    policy = (await client.get("/", headers=HTML)).headers["content-security-policy"]

    rules = {
        name: value
        for name, _, value in (rule.strip().partition(" ") for rule in policy.split(";"))
    }
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in policy
    assert rules["frame-ancestors"] == "'none'"


async def test_files_with_a_hash_are_kept_for_ever(client: httpx2.AsyncClient):
    answer = await client.get("/assets/index-1a2b.js", headers={"accept-encoding": "identity"})

    assert answer.content == SCRIPT
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["vary"] == "accept-encoding"


async def test_what_was_packed_at_build_time_is_sent_packed(client: httpx2.AsyncClient):
    answer = await client.get("/assets/index-1a2b.js", headers={"accept-encoding": "br, gzip"})

    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(SCRIPT)
    assert answer.content == SCRIPT


@pytest.mark.parametrize("offered", ["", "br", "gzip;q=0", "notgzip"])
async def test_nobody_gets_gzip_who_does_not_take_it(client: httpx2.AsyncClient, offered: str):
    answer = await client.get("/assets/index-1a2b.js", headers={"accept-encoding": offered})

    assert "content-encoding" not in answer.headers
    assert answer.content == SCRIPT


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/assets/..%2f..%2fsecret.txt",
            "/..%5csecret.txt",
        ),
        *("/leak.txt", "/.stamp.json", "/assets/%00"),
    ],
)
async def test_nothing_outside_of_the_folder_is_served(client: httpx2.AsyncClient, path: str):
    answer = await client.get(path)

    assert answer.text == "the app"


async def test_an_old_script_is_missing_and_not_a_page(client: httpx2.AsyncClient):
    assert (await client.get("/assets/gone-0000.js", headers=HTML)).text == "the app"


@pytest.mark.parametrize("path", ["/favicon.ico", "/icon-192.png", "/sw.js", "/a.webmanifest"])
async def test_a_missing_file_is_no_page(client: httpx2.AsyncClient, path: str):
    assert (await client.get(path, headers=HTML)).text == "the app"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/manifest.webmanifest", "application/manifest+json"),
        ("/service-worker.js", "text/javascript"),
    ],
)
async def test_what_installs_the_pages_is_served_and_never_kept(
    client: httpx2.AsyncClient, path: str, kind: str
):
    answer = await client.get(path, headers=HTML)

    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["cache-control"] == "no-cache"
    # A worker runs under the policy of its own file.
    assert "worker-src 'self'" in answer.headers["content-security-policy"]
    assert "trusted-types tollgate-worker" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/api", "/api/v1/me", "/api/v1/nothing"])
async def test_the_api_is_left_alone(client: httpx2.AsyncClient, path: str):
    assert (await client.get(path, headers=HTML)).text == "the app"


async def test_what_is_no_reading_goes_to_the_app(client: httpx2.AsyncClient):
    assert (await client.post("/", headers=HTML)).text == "the app"
    head = await client.head("/", headers=HTML)
    assert head.status_code == 200
    assert head.content == b""


async def test_who_wants_no_page_gets_none(client: httpx2.AsyncClient):
    assert (await client.get("/chat", headers={"accept": "application/json"})).text == "the app"


async def test_without_a_build_a_page_says_what_to_do(tmp_path: Path):
    async with _client(tmp_path / "nothing") as client:
        answer = await client.get("/", headers=HTML)

        assert answer.status_code == 503
        assert "scripts/bootstrap.py web" in answer.text
        assert "content-security-policy" in answer.headers
        assert (await client.get("/api/v1/health", headers=HTML)).text == "the app"


async def test_a_foreign_host_name_gets_no_page(serving: Running):
    async with HttpClient(base_url=serving.url) as client:
        answer = await client.get("/", headers={**HTML, "host": "evil.example"})

    assert answer.status_code == 403
    assert answer.json()["code"] == "forbidden"


async def test_the_service_guards_its_pages_like_everything_else(serving: Running):
    async with HttpClient(base_url=serving.url) as client:
        page = await client.get("/", headers=HTML)
        missing = await client.get("/api/v1/nothing", headers=HTML)

    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["x-frame-options"] == "DENY"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert missing.status_code == 404
    assert missing.json()["code"] == "not_found"


@pytest.mark.parametrize("root_path", ["", "/tools/gate"])
async def test_the_page_names_its_files_from_where_the_service_is(dist: Path, root_path: str):
    async with _client(dist, root_path) as client:
        for path in ("/", "/chat/ses_1"):
            page = (await client.get(path, headers=HTML)).text
            assert f'src="{root_path}/assets/index-1a2b.js"' in page


async def test_a_program_that_asks_for_the_page_gets_links(client: httpx2.AsyncClient):
    answer = await client.get("/", headers={"accept": "*/*"})

    assert answer.json()["name"] == "Tollgate"
    assert answer.json()["links"]["openapi"] == "/api/v1/openapi.json"
