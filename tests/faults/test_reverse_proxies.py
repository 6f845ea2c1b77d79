"""The recipes of `docs/reverse-proxy.md`, run as they stand there but for addresses and keys."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import httpx2
import pytest
import websockets

from app.config.server import ServingSettings
from scripts.parts import OPENSSL
from tests.faults.test_proxies import _refused_sources
from tests.support.binaries import needs, require_binary
from tests.support.raw_clients import until_it_listens
from tests.support.service import PATIENCE_S, Chat, Running, serving, settings_for
from tests.support.source import ROOT

PAGE = ROOT / "docs" / "reverse-proxy.md"
TOKEN = "t" * 43
NAME = "localhost"


def recipe(language: str) -> str:
    """The block of a language on the page."""
    page = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def free_port() -> int:
    """One that no connection of another program gets meanwhile."""
    for port in Random(os.getpid()).sample(range(20_000, 32_000), 1000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
    raise AssertionError("no port is free")


@dataclass(frozen=True)
class Certificate:
    chain: Path
    key: Path

    @classmethod
    def made_in(cls, folder: Path) -> Certificate:
        made = cls(folder / "fullchain.pem", folder / "privkey.pem")
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        names = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "2"]
        files = ["-nodes", "-keyout", str(made.key), "-out", str(made.chain)]
        command = [str(require_binary("openssl")), *words, *names, *files]
        subprocess.run(command, check=True, capture_output=True)
        return made

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.chain))


def nginx(folder: Path, port: int, upstream: str, keys: Certificate) -> list[str]:
    program = str(require_binary("nginx"))
    site = recipe("nginx")
    for known, ours in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("server_name tollgate.example", f"server_name {NAME}"),
        ("/etc/ssl/tollgate/fullchain.pem", str(keys.chain)),
        ("/etc/ssl/tollgate/privkey.pem", str(keys.key)),
        ("127.0.0.1:8420", upstream),
    ):
        assert known in site
        site = site.replace(known, ours)
    places = "".join(
        f"{kind}_temp_path {folder / kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off;\nmaster_process off;\npid {folder / 'pid'};\nerror_log stderr;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{places}{site}}}\n",
        encoding="utf-8",
    )
    return [program, "-p", str(folder), "-e", "stderr", "-c", str(configuration)]


def caddy(folder: Path, port: int, upstream: str, keys: Certificate) -> list[str]:
    program = str(require_binary("caddy"))
    site = recipe("caddyfile")
    assert "tollgate.example {" in site
    site = site.replace(
        "tollgate.example {", f"https://{NAME}:{port} {{\n\ttls {keys.chain} {keys.key}"
    ).replace("127.0.0.1:8420", upstream)
    configuration = folder / "Caddyfile"
    # Without the port 80 and the administration that it would open besides.
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    configuration.write_text(options + site, encoding="utf-8")
    return [program, "run", "--config", str(configuration), "--adapter", "caddyfile"]


Proxy = Callable[[Path, int, str, Certificate], list[str]]


@dataclass(frozen=True)
class Site:
    """A service behind a proxy."""

    running: Running
    url: str
    trusted: ssl.SSLContext

    def client(self, **headers: str) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=f"{self.url}/api/v1",
            verify=self.trusted,
            timeout=PATIENCE_S,
            headers=headers,
        )


@asynccontextmanager
async def site(folder: Path, proxy: Proxy) -> AsyncIterator[Site]:
    keys = Certificate.made_in(folder)
    settings = settings_for(
        folder / "data",
        allow_anonymous=False,
        token=TOKEN,
        secure_cookie=True,
        serving=ServingSettings(trusted_proxies=["127.0.0.1"]),
    )
    port = free_port()
    async with serving(settings) as running:
        command = proxy(folder, port, urlsplit(running.url).netloc, keys)
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, env=environment)
        try:
            await until_it_listens(port, process)
            yield Site(running, f"https://{NAME}:{port}", keys.trusted)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


@pytest.mark.parametrize("proxy", [nginx, caddy])
@needs(OPENSSL)
async def test_a_browser_and_a_program_work_through_the_proxy_of_the_page(
    tmp_path: Path, proxy: Proxy
):
    (tmp_path / "data").mkdir()
    async with site(tmp_path, proxy) as place:
        await _a_browser_signs_in(place)
        await _a_websocket_and_a_stream_work(place)
        await _an_upload_arrives(place)
        await _the_audit_names_the_client(place)


async def _a_browser_signs_in(place: Site) -> None:
    async with place.client(Origin=place.url) as browser:
        answer = await browser.post("/login", json={"token": TOKEN})
        assert answer.status_code == 200, answer.text
        assert answer.headers["set-cookie"].startswith("__Host-tollgate_login=")
        csrf = {"X-CSRF-Token": answer.json()["csrf_token"]}
        assert (await browser.post("/sessions", json={}, headers=csrf)).status_code == 201


async def _a_websocket_and_a_stream_work(place: Site) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with place.client(**bearer) as client:
        session = (await client.post("/sessions", json={})).json()["id"]
        url = place.url.replace("https", "wss", 1) + "/api/v1/ws"
        async with (
            websockets.connect(
                url,
                ssl=place.trusted,
                subprotocols=[websockets.Subprotocol("tollgate.v1")],
                additional_headers=bearer,
            ) as socket,
            client.stream("GET", f"/sessions/{session}/events/stream") as stream,
        ):
            chat = Chat(socket)
            await chat.send({"type": "hello", "id": "hello"})
            await chat.until("ack")
            assert (await chat.command(type="subscribe", session_id=session))[
                "type"
            ] == "subscribed"
            call = {"arguments": {"expression": "6*7"}, "session_id": session}
            asked = await client.post("/tools/calculator/call", json=call)
            assert asked.status_code == 200, asked.text
            await chat.until("tool_call_completed")
            async with asyncio.timeout(PATIENCE_S):
                async for line in stream.aiter_lines():
                    if line.startswith("data:") and "tool_call_completed" in line:
                        return
    raise AssertionError("the stream ended without the call")


async def _an_upload_arrives(place: Site) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with place.client(**bearer) as client:
        session = (await client.post("/sessions", json={"project_id": "default"})).json()["id"]
        content = b"x" * (3 << 20)
        sent = await client.post(
            f"/sessions/{session}/files?name=big.bin",
            content=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        assert sent.status_code == 200, sent.text


async def _the_audit_names_the_client(place: Site) -> None:
    """A client that claims another address is still the one that came to the proxy."""
    async with place.client(**{"X-Forwarded-For": "203.0.113.9"}) as client:
        wrong = {"Authorization": "Bearer tg_wrong"}
        assert (await client.get("/me", headers=wrong)).status_code == 401
    assert await _refused_sources(place.running) == ["127.0.0.1"]


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path):
    analyse = require_binary("systemd-analyze")
    unit = tmp_path / "tollgate.service"
    program = require_binary("true")
    text = re.sub(r"^ExecStart=\S+", f"ExecStart={program}", recipe("ini"), flags=re.MULTILINE)
    unit.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [str(analyse), "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    words = re.search(r"^ExecStart=\S+ (.*)$", recipe("ini"), flags=re.MULTILINE)
    assert words is not None
    assert words[1].startswith("serve --data-dir ")
