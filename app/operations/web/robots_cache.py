"""Cache of the sites' robots.txt."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from app.core.clock import Clock
from app.core.errors import ToolFailed
from app.operations.web.protocol import WebResponse
from app.operations.web.urls import WebUrl

_KEPT_S = 3600.0
_KEPT_CLOSED_S = 60.0
_MAX_SITES = 500
# Errors of a failed fetch that also apply to pages.
_PASSED_ON = frozenset({"address_refused", "host_refused", "invalid_url"})

FetchRobots = Callable[[WebUrl], Awaitable[WebResponse]]

MAX_ROBOTS = 500_000
_MAX_RULES = 5000
_SAFE = "/%?=&:;@+$,~*!'()"


@dataclass(frozen=True, slots=True)
class Robots:
    """Rules for us: `(allow, pattern)`.

    Attributes:
        closed: nothing may be fetched, because the server failed to provide the rules.
    """

    rules: tuple[tuple[bool, str], ...] = ()
    closed: bool = False

    def allows(self, target: str) -> bool:
        """Return whether a path with its query may be fetched: the longest pattern decides."""
        if self.closed:
            return False
        matching = [
            (len(pattern), allow) for allow, pattern in self.rules if _matches(pattern, target)
        ]
        return max(matching, default=(0, True))[1]


@dataclass(slots=True)
class _AgentGroup:
    agents: set[str] = field(default_factory=set)
    rules: list[tuple[bool, str]] = field(default_factory=list)


def parse_robots(text: str, agent: str) -> Robots:
    """Return the rules for `agent`: of all groups that name it, otherwise of those for `*`."""
    groups: list[_AgentGroup] = []
    naming = False
    if len(text) > MAX_ROBOTS:
        text = text[:MAX_ROBOTS].rpartition("\n")[0]
    for line in text.lstrip("\ufeff").splitlines():
        name, mark, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not mark:
            continue
        if name == "user-agent":
            if not naming:
                groups.append(_AgentGroup())
            groups[-1].agents.add(value.lower())
            naming = True
        elif name in ("allow", "disallow") and groups:
            naming = False
            if value and len(groups[-1].rules) < _MAX_RULES:
                groups[-1].rules.append((name == "allow", quote(value, safe=_SAFE)))
    wanted = agent.lower()
    ours = [group for group in groups if wanted in group.agents]
    chosen = ours or [group for group in groups if "*" in group.agents]
    rules = [rule for group in chosen for rule in group.rules]
    return Robots(tuple(rules[:_MAX_RULES]))


def _matches(pattern: str, target: str) -> bool:
    """Match `*` as any text and a final `$` as the end, in time linear in the lengths."""
    whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    if not others:
        return not whole or target == first
    place = len(first)
    for part in others[:-1]:
        found = target.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    last = others[-1]
    if whole:
        return target.endswith(last) and len(target) - len(last) >= place
    return target.find(last, place) >= 0


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
