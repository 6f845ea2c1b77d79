"""Cache of the sites' robots.txt."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from app.core.clock import Clock
from app.core.errors import ToolFailed
from app.operations.web.protocol import WebResponse
from app.operations.web.robots import Robots, parse_robots
from app.operations.web.urls import WebUrl

_KEPT_S = 3600.0
_KEPT_CLOSED_S = 60.0
_MAX_SITES = 500
# Errors of a failed fetch that also apply to pages.
_PASSED_ON = frozenset({"address_refused", "host_refused", "invalid_url"})

FetchRobots = Callable[[WebUrl], Awaitable[WebResponse]]


@dataclass(slots=True)
class _Site:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    robots: Robots | None = None
    until: float = 0.0


class RobotsCache:
    """robots.txt by scheme, host and port."""

    def __init__(self, clock: Clock, agent: str, fetch: FetchRobots) -> None:
        self._clock = clock
        self._agent = agent
        self._fetch = fetch
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    async def check(self, url: WebUrl) -> None:
        """Refuse addresses that a site excludes.

        Raises:
            ToolFailed: `robots_refused`; or the error for robots.txt if it also applies to pages.
        """
        if not (await self._robots(url)).allows(url.target):
            raise ToolFailed(
                f"robots.txt of {url.host!r} disallows fetching {str(url)[:200]!r}",
                code="robots_refused",
            )

    async def _robots(self, url: WebUrl) -> Robots:
        site = self._sites.setdefault(url.origin, _Site())
        self._sites.move_to_end(url.origin)
        while len(self._sites) > _MAX_SITES:
            self._sites.popitem(last=False)
        async with site.lock:
            if site.robots is None or self._clock.monotonic() >= site.until:
                site.robots = await self._ask(WebUrl(url.scheme, url.host, url.port, "/robots.txt"))
                kept_s = _KEPT_CLOSED_S if site.robots.closed else _KEPT_S
                site.until = self._clock.monotonic() + kept_s
            return site.robots

    async def _ask(self, url: WebUrl) -> Robots:
        try:
            response = await self._fetch(url)
        except ToolFailed as error:
            code = error.details.get("code")
            if code in _PASSED_ON:
                raise
            # Endless redirects count as a missing file; a server without a response may have one.
            return Robots(closed=code != "redirect_refused")
        if response.ok:
            return parse_robots(response.body.decode("utf-8", "replace"), self._agent)
        return Robots(closed=response.status >= 500 or response.status == 429)
