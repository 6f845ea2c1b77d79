"""`screenshot` with the real browser in the real sandbox, and a real display."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.config.screens import ScreenSettings
from app.config.web import WebSettings
from app.core.errors import InvalidArguments
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.kernel_probe import probe
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.status import judge
from app.operations.sandbox.workspace import SandboxedWorkspace
from app.operations.screens.screens import Screens
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS, SCREEN_CAPTURE
from app.toolkit.services import Services
from app.tools.media.screenshot import screenshot
from tests.operations.screens.web import Site, serving
from tests.support.binaries import require_binary
from tests.tools.calls import call
from tests.tools.media.kept import Kept


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
async def here(
    root: Path, kept: Kept, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[ToolContext]:
    """A call of the tool; its sandbox lacks the layers that the test names."""
    require_binary("chromium-headless-shell")
    found = probe()
    status = judge(replace(found, layers=found.layers - getattr(request, "param", frozenset())))
    sandbox = Sandbox(SandboxConfig(temporary=tmp_path / "private"), status=status)
    try:
        async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
            yield ToolContext(
                tool_call_id="call_1",
                operation_id="op_1",
                session_id="session_1",
                project_id="project_1",
                services=services(kept, allow_private=True),
                bound_operations=workspace.operations,
            )
    finally:
        await sandbox.close()


def services(kept: Kept, **settings: Any) -> Services:
    screens = Screens(ScreenSettings(**settings), os.environ)
    return Services(**{ARTIFACTS: kept, SCREEN_CAPTURE: screens})


def png_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.requirement("MED-01")
@pytest.mark.parametrize(
    "here", [frozenset(), frozenset({"namespaces"})], ids=["whole", "as in Docker"], indirect=True
)
async def test_a_page_on_loopback_is_pictured_written_and_shown(
    here: ToolContext, root: Path, kept: Kept, site: Site
):
    site.pages["/go"] = (302, "/", b"")
    site.pages["/"] = (200, "text/html", b"<title>Hello</title><body style='height:2000px'>")
    result = await call(screenshot, here, url=f"{site.url}/go", wait_time=0, viewport_width=640)
    assert result.error is None
    assert {key: result.data[key] for key in ("path", "width", "height", "title", "url")} == {
        "path": "screenshots/127.0.0.1-op_1.png",
        "width": 640,
        "height": 720,
        "title": "Hello",
        "url": f"{site.url}/",
    }
    data = (root / "screenshots/127.0.0.1-op_1.png").read_bytes()
    assert png_size(data) == (640, 720)
    assert kept.files == {result.data["artifact_id"]: ("image/png", data)}
    assert result.raw_result is not None
    assert result.raw_result.type == "image"
    assert result.raw_result.data["images"][0]["artifact_id"] == result.data["artifact_id"]
    assert result.data["sandbox"]["level"] == "bash"


async def test_all_of_a_page_can_be_pictured(here: ToolContext, root: Path, site: Site):
    site.pages["/"] = (200, "text/html", b"<body style='margin:0;height:2000px'>")
    result = await call(
        screenshot, here, url=site.url, wait_time=0, full_page=True, output_path="all.png"
    )
    assert png_size((root / "all.png").read_bytes()) == (1280, 2000)
    assert (result.data["width"], result.data["height"]) == (1280, 2000)


async def test_a_page_reaches_nothing_but_through_us(here: ToolContext, site: Site):
    # What the browser does not hand over to be fetched meets a machine without network.
    page = f"""<script>
      new WebSocket("ws://127.0.0.1:{site.port}/socket");
      fetch("/fetched"); navigator.sendBeacon("/beacon", "x");
      var peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:127.0.0.1:{site.port}"}}]}});
      peer.createDataChannel("x"); peer.createOffer().then(o => peer.setLocalDescription(o));
      window.open("/popup"); alert("waiting");
    </script><iframe src="file:///etc/passwd"></iframe><img src="/image.png">"""
    site.pages["/"] = (200, "text/html", page.encode())
    result = await call(screenshot, here, url=site.url, wait_time=300)
    assert result.error is None
    assert {"/", "/fetched", "/image.png"} <= set(site.asked)
    assert "/socket" not in site.asked


async def test_a_page_of_this_machine_is_refused_unless_the_operator_allows_it(
    here: ToolContext, kept: Kept, site: Site, root: Path
):
    here.services = services(kept)
    result = await call(screenshot, here, url=site.url)
    assert result.code == "address_refused"
    assert "screens.allow_private" in str(result.error)
    assert (site.asked, kept.files, (root / "screenshots").exists()) == ([], {}, False)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        *(("http://10.0.0.1/", "address_refused"), ("http://[::1]/", "address_refused")),
        *(("http://0x7f.1/", "address_refused"), ("http://denied.example/", "host_refused")),
    ],
)
async def test_what_may_not_be_reached_starts_no_browser(
    ctx: ToolContext, kept: Kept, url: str, code: str
):
    web = WebSettings(deny_hosts=["denied.example"])
    # Here no program can be started at all.
    screens = Screens(ScreenSettings(browser=sys.executable), os.environ, web=web)
    ctx.services = Services(**{ARTIFACTS: kept, SCREEN_CAPTURE: screens})
    assert (await call(screenshot, ctx, url=url)).code == code


async def test_a_page_that_does_not_come_is_an_error(here: ToolContext):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        result = await call(screenshot, here, url=url)
    assert result.code == "fetch_failed"
    script = await call(screenshot, here, url="javascript:alert(1)")
    assert script.code == "invalid_url"


# Answers every command as a browser does, until it has gone to the page.
_ENDS_THERE = """#!/bin/sh
exec python3 -c '
import json, os
said = b""
while came := os.read(3, 1 << 16):
    said += came
    *whole, said = said.split(bytes(1))
    for raw in whole:
        number, method = json.loads(raw)["id"], json.loads(raw)["method"]
        made = {"targetId": "1", "sessionId": "1"}
        os.write(4, json.dumps({"id": number, "result": made}).encode() + bytes(1))
        if method == "Page.navigate":
            raise SystemExit("nothing left")
'
"""


async def test_a_browser_that_ends_is_not_waited_for(here: ToolContext, root: Path, kept: Kept):
    program = root / "browser"
    program.write_text(_ENDS_THERE, encoding="utf-8")
    program.chmod(0o755)
    screens = Screens(ScreenSettings(browser=str(program), allow_private=True), os.environ)
    here.services = Services(**{ARTIFACTS: kept, SCREEN_CAPTURE: screens})
    result = await call(screenshot, here, url="http://127.0.0.1:8080/")
    assert result.code == "browser_failed"
    assert "nothing left" in str(result.error)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"mode": "desktop", "url": "http://example.org"},
        {"url": "http://example.org", "output_path": "run.sh"},
        {"url": "http://example.org", "viewport_width": 100_000},
    ],
)
async def test_arguments_that_do_not_fit_are_refused(ctx: ToolContext, arguments: dict[str, Any]):
    with pytest.raises(InvalidArguments):
        await call(screenshot, ctx, **arguments)


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_with_windows_is_said_not_to_start(tmp_path: Path, name: str):
    program = tmp_path / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    screens = Screens(ScreenSettings(browser=str(program), desktop=False), {})
    assert not screens.available
    assert str(program) in str(screens.no_pages)
    assert "chromium-headless-shell" in str(screens.no_pages)
    assert "TOLLGATE_SCREENS__BROWSER" in str(screens.no_pages)


def test_without_a_browser_and_a_display_the_reasons_are_known():
    screens = Screens(ScreenSettings(browser="/no/such/browser"), {})
    assert screens.available is False
    assert "install chromium-headless-shell" in str(screens.no_pages)
    assert screens.no_desktop == "no X11 display is available: DISPLAY is not set"
    off = Screens(ScreenSettings(desktop=False), {"DISPLAY": ":0"})
    assert off.no_desktop == "disabled by screens.desktop"


async def test_without_a_display_the_error_says_so(ctx: ToolContext, kept: Kept):
    screens = Screens(ScreenSettings(), {})
    ctx.services = Services(**{ARTIFACTS: kept, SCREEN_CAPTURE: screens})
    result = await call(screenshot, ctx, mode="desktop")
    assert (result.code, kept.files) == ("not_available", {})
    assert "DISPLAY is not set" in str(result.error)


@pytest.fixture
def display() -> Iterator[str]:
    program = require_binary("Xvfb")
    read, write = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(write), "-screen", "0", "640x480x24", "-nolisten", "tcp"],
        pass_fds=(write,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as reported:
            yield f":{reported.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.requirement("MED-01")
async def test_the_desktop_is_pictured(ctx: ToolContext, kept: Kept, display: str):
    screens = Screens(ScreenSettings(), {"DISPLAY": display})
    ctx.services = Services(**{ARTIFACTS: kept, SCREEN_CAPTURE: screens})
    ctx.session_id = "session_1"
    result = await call(screenshot, ctx, mode="desktop")
    assert result.error is None
    assert (result.data["width"], result.data["height"]) == (640, 480)
    data = await ctx.operations.files.read(result.data["path"], max_bytes=1 << 20)
    assert png_size(data) == (640, 480)
    missing = await call(screenshot, ctx, mode="desktop", monitor=9)
    assert missing.code == "no_such_monitor"


async def test_a_display_that_is_gone_is_an_error(ctx: ToolContext, kept: Kept):
    screens = Screens(ScreenSettings(), {"DISPLAY": ":65000"})
    ctx.services = Services(**{ARTIFACTS: kept, SCREEN_CAPTURE: screens})
    result = await call(screenshot, ctx, mode="desktop")
    assert result.code == "desktop_failed"
