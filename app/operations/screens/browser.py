"""Screenshots of web pages, by a Chromium without network.

Chromium runs in the sandbox like every other program, without network and without its own sandbox,
which ours does not permit. The browser passes every request of a page to us, and we fetch it
(`page_requests`): a page, its scripts and its redirects therefore reach public addresses only, and
the kernel enforces that for the browser.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from app.core.errors import ToolFailed
from app.operations.local.environment import SAFE_PATH
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessLimits, ProcessSpec
from app.operations.screens.devtools import DevTools
from app.operations.screens.page_requests import PageRequests
from app.operations.screens.pictures import PageRequest, Picture
from app.operations.web.destinations import Destinations
from app.operations.web.urls import parse_url

if TYPE_CHECKING:
    from app.operations.web.exchange import Exchange

_NAMES = ("chromium-headless-shell", "chrome-headless-shell", "headless_shell")
_FULL = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAX_HEIGHT = 16_384
_CLOSE_S = 5.0
_TASKS = 512  # about a hundred threads for an ordinary page; a failed thread start hangs it
# The shell stays, so that the profile is removed when the browser has ended. Chromium reads
# commands from descriptor 3 and writes responses to 4.
_LAUNCH = (
    'd=$(mktemp -d) || exit 1; trap \'rm -rf "$d"\' EXIT; trap "exit 1" TERM INT HUP; '
    'HOME="$d" "$@" --user-data-dir="$d" 3<&0 4>&1 0</dev/null 1>/dev/null'
)
_OPTIONS = (
    *("--headless", "--remote-debugging-pipe", "--no-sandbox", "--no-zygote"),
    *("--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio"),
    *("--no-first-run", "--no-default-browser-check", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic", "--disable-extensions"),
    *("--disable-default-apps", "--disable-breakpad", "--disable-crash-reporter"),
    *("--metrics-recording-only", "--password-store=basic", "--use-mock-keychain"),
    *("--no-service-autorun", "--disable-client-side-phishing-detection"),
    # A separate graphics process reads /proc, which is closed without namespaces, as in a
    # container.
    "--in-process-gpu",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # One process for all frames, so that every request of a page is passed to us.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,Translate,OptimizationHints,MediaRouter",
)


def full_browser(configured: str | None) -> str | None:
    """Return a windowed Chromium if there is no other: it does not start in the sandbox.

    It requires a socket with a path, which could reach every other socket of the machine.
    """
    names = _FULL if configured is None else (configured,)
    found = (shutil.which(name, path=None if configured else SAFE_PATH) for name in names)
    program = next((path for path in found if path is not None), None)
    return program if program is not None and PurePath(program).name in _FULL else None


def find_browser(configured: str | None) -> str | None:
    """Return the browser's program, if one can run in the sandbox."""
    if configured is not None and full_browser(configured) is not None:
        return None
    if configured is not None:
        return shutil.which(configured)
    found = (shutil.which(name, path=SAFE_PATH) for name in _NAMES)
    return next((path for path in found if path is not None), None)


class Browser:
    """Takes screenshots, each with a separate browser that is closed afterwards."""

    def __init__(self, program: str, destinations: Destinations) -> None:
        self._program = program
        self._destinations = destinations

    async def picture(self, operations: Operations, request: PageRequest) -> Picture:
        """Return a screenshot of a page once it has loaded.

        Raises:
            ToolFailed: `invalid_url`, `host_refused`, `address_refused`, `page_failed`, `timeout`,
                `browser_failed`, `sandbox_unavailable`.
        """
        # A browser takes seconds to start.
        self._destinations.check_written(parse_url(request.url))
        argv = ("/bin/sh", "-c", _LAUNCH, "sh", self._program, *_OPTIONS)
        limits = ProcessLimits(
            wall_s=request.timeout_s + request.wait_s + 2 * _CLOSE_S,
            tasks=_TASKS,
            open_files=4096,
            output_bytes=256 << 20,
        )
        spec = ProcessSpec(argv=argv, limits=limits, interactive=True, network=False)
        async with operations.processes.open(spec) as process:
            devtools = DevTools(process)
            reading = asyncio.create_task(devtools.converse())
            try:
                picture = await self._take(devtools, request)
                with suppress(ToolFailed, TimeoutError):
                    async with asyncio.timeout(_CLOSE_S):
                        await devtools.command("Browser.close")
                await asyncio.wait({reading}, timeout=_CLOSE_S)
                await process.kill()
                ended = await process.wait()
            finally:
                reading.cancel()
                await asyncio.wait({reading})
        return replace(picture, sandbox=ended.sandbox)

    async def _take(self, devtools: DevTools, request: PageRequest) -> Picture:
        from app.operations.web.exchange import Exchange

        async with Exchange(self._destinations) as exchange:
            page = _Page(devtools, exchange)
            try:
                async with asyncio.timeout(request.timeout_s):
                    await page.open(request)
                await asyncio.sleep(request.wait_s)
                async with asyncio.timeout(request.timeout_s):
                    return await page.picture(request)
            except TimeoutError:
                raise ToolFailed(
                    f"{request.url!r} did not load within {request.timeout_s:g} s; raise timeout",
                    code="timeout",
                ) from None
            finally:
                await page.close()


class _Page:
    """One tab."""

    def __init__(self, devtools: DevTools, exchange: Exchange) -> None:
        self._devtools = devtools
        self._session = ""
        self._loaded = devtools.expect()
        self._requests = PageRequests(exchange, self._command)
        self._dialogs: set[asyncio.Task[Any]] = set()
        devtools.on_event = self._on_event

    async def open(self, request: PageRequest) -> None:
        """Navigate to the page and wait until it has loaded."""
        made = await self._devtools.command("Target.createTarget", {"url": "about:blank"})
        target = {"targetId": made["targetId"], "flatten": True}
        attached = await self._devtools.command("Target.attachToTarget", target)
        self._session = str(attached["sessionId"])
        await self._devtools.command("Browser.setDownloadBehavior", {"behavior": "deny"})
        await self._command("Page.enable")
        await self._command("Inspector.enable")
        size = {"width": request.width, "height": request.height}
        metrics = {**size, "deviceScaleFactor": 1, "mobile": False}
        await self._command("Emulation.setDeviceMetricsOverride", metrics)
        await self._command("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
        went = await self._command("Page.navigate", {"url": request.url})
        if went.get("errorText"):
            raise self._requests.first_error or ToolFailed(
                f"Cannot open {request.url!r}: {went['errorText']}", code="page_failed"
            )
        await self._loaded

    async def picture(self, request: PageRequest) -> Picture:
        """Return a screenshot of the current page."""
        width, height = request.width, request.height
        options: dict[str, Any] = {"format": "png"}
        if request.full_page:
            metrics = await self._command("Page.getLayoutMetrics")
            content = metrics["cssContentSize"]
            height = max(1, min(int(content["height"]), _MAX_HEIGHT))
            width = max(1, min(int(content["width"]), _MAX_HEIGHT))
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            options |= {"captureBeyondViewport": True, "clip": clip}
        taken = await self._command("Page.captureScreenshot", options)
        try:
            data = base64.b64decode(taken["data"], validate=True)
        except (KeyError, TypeError, binascii.Error):
            raise ToolFailed("The browser returned no screenshot", code="browser_failed") from None
        url, title = await self._where()
        return Picture(data, width, height, url, title, tuple(self._requests.refused))

    async def close(self) -> None:
        """Stop fetching."""
        for task in self._dialogs:
            task.cancel()
        await self._requests.close()

    async def _where(self) -> tuple[str, str]:
        history = await self._command("Page.getNavigationHistory")
        try:
            entry = history["entries"][history["currentIndex"]]
            return str(entry["url"])[:2000], str(entry["title"])[:500]
        except (KeyError, IndexError, TypeError):
            return "", ""

    async def _command(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return await self._devtools.command(method, params, session=self._session)

    def _on_event(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            if not self._loaded.done():
                self._loaded.set_result(None)
        elif method == "Inspector.targetCrashed":
            if not self._loaded.done():
                self._loaded.set_exception(
                    ToolFailed("The page crashed the browser", code="browser_failed")
                )
        elif method == "Fetch.requestPaused":
            self._requests.paused(params)
        elif method == "Page.javascriptDialogOpening":
            closing = self._command("Page.handleJavaScriptDialog", {"accept": False})
            task = asyncio.ensure_future(closing)
            self._dialogs.add(task)
            task.add_done_callback(self._dialogs.discard)
