"""Available screenshots on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from app.config.screens import ScreenSettings
from app.config.web import WebSettings
from app.core.errors import ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.screens.browser import Browser, find_browser, full_browser
from app.operations.screens.desktop import Desktop, no_desktop
from app.operations.screens.pictures import PageRequest, Picture
from app.operations.web.addresses import ANYWHERE, OwnPorts
from app.operations.web.destinations import Destinations

_NO_BROWSER = (
    "no headless Chromium was found: install chromium-headless-shell, or set "
    "TOLLGATE_SCREENS__BROWSER to its path"
)
_FULL_BROWSER = (
    "{program} is a full Chromium, which does not start in the sandbox: install the "
    "package chromium-headless-shell, or set TOLLGATE_SCREENS__BROWSER to a headless "
    "shell"
)


class Screens:
    """Screenshots of web pages with a browser, of the desktop with a display.

    Attributes:
        no_pages, no_desktop: why unavailable, or None.
    """

    def __init__(
        self,
        settings: ScreenSettings,
        environment: Mapping[str, str] = os.environ,
        *,
        web: WebSettings | None = None,
        own_ports: OwnPorts = frozenset,
    ) -> None:
        """Detect browser and display.

        Args:
            web: allowed hosts and networks of pages.
            own_ports: returns the ports on which this service listens.
        """
        destinations = _destinations(settings, web or WebSettings(), own_ports)
        program = find_browser(settings.browser)
        self.no_pages = None if program is not None else _no_browser(settings)
        self.no_desktop = (
            no_desktop(environment) if settings.desktop else "disabled by screens.desktop"
        )
        self._browser = None if program is None else Browser(program, destinations)
        self._desktop = Desktop(environment) if self.no_desktop is None else None

    @property
    def available(self) -> bool:
        """Return whether screenshots are possible."""
        return self._browser is not None or self._desktop is not None

    async def page(self, operations: Operations, request: PageRequest) -> Picture:
        """Capture a page, see `Browser.picture`.

        Raises:
            ToolFailed: `not_available` without a browser.
        """
        if self._browser is None:
            raise ToolFailed(
                f"Cannot take a screenshot of a page: {self.no_pages}", code="not_available"
            )
        return await self._browser.picture(operations, request)

    async def desktop(self, monitor: int) -> Picture:
        """Capture the desktop, see `Desktop.picture`.

        Raises:
            ToolFailed: `not_available` without a display.
        """
        if self._desktop is None:
            raise ToolFailed(
                f"Cannot take a screenshot of the desktop: {self.no_desktop}", code="not_available"
            )
        return await self._desktop.picture(monitor)


def _destinations(settings: ScreenSettings, web: WebSettings, own_ports: OwnPorts) -> Destinations:
    """Return the allowed destinations of pages: as for the web tools, or anywhere if so
    configured.
    """
    found = Destinations.of(web, own_ports)
    allowed = ANYWHERE if settings.allow_private else found.reach.allowed
    return replace(
        found,
        reach=replace(found.reach, allowed=allowed),
        setting="screens.allow_private or web.allow_networks",
    )


def _no_browser(settings: ScreenSettings) -> str:
    full = full_browser(settings.browser)
    return _NO_BROWSER if full is None else _FULL_BROWSER.format(program=full)
