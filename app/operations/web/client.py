"""Web access for tools: redirects, robots.txt, rate limits and cache on top of checked requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from app.config.web import WebSettings
from app.core.clock import Clock
from app.core.errors import ToolFailed
from app.operations.web.addresses import ANYWHERE, OwnPorts, Reach
from app.operations.web.destinations import Destinations
from app.operations.web.protocol import (
    MAX_BYTES,
    MAX_REDIRECTS,
    NO_HEADERS,
    TIMEOUT_S,
    WebResponse,
)
from app.operations.web.urls import WebUrl, parse_url

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkBackend

    from app.operations.web.exchange import Exchange
    from app.operations.web.raw_response import RawResponse
    from app.operations.web.resolver import AddressResolver

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_ROBOTS_BYTES = 2_000_000
_ROBOTS_S = 10.0
# Headers sent to every server.
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
_ACCEPT = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.9,application/json;q=0.9,"
    "application/pdf;q=0.8,*/*;q=0.5"
)


@dataclass(frozen=True, slots=True)
class _Request:
    """One hop of a chain of redirects."""

    method: str
    url: WebUrl
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    def redirected(self, status: int, url: WebUrl) -> _Request:
        """Return the request of a redirect.

        Raises:
            ToolFailed: `redirect_refused`.
        """
        method, headers, body = self.method, self.headers, self.body
        if status == 303 or (status in (301, 302) and method == "POST"):
            method, body = ("HEAD" if method == "HEAD" else "GET"), None
        if self.url.scheme == "https" and url.scheme == "http":
            raise _refused(self.url, "it redirects from https to http")
        if url.origin != self.url.origin:
            headers = tuple(pair for pair in headers if pair[0].lower() in _HARMLESS)
            if body is not None:
                raise _refused(self.url, "it would send the request's data to another site")
        return _Request(method, url, headers, body)


@dataclass(slots=True)
class _TimeBudget:
    """Time budget in seconds for the requests of one chain; waiting for a turn is free."""

    clock: Clock
    left: float

    @asynccontextmanager
    async def spend(self, url: WebUrl) -> AsyncIterator[None]:
        begun = self.clock.monotonic()
        try:
            async with asyncio.timeout(max(self.left, 0)):
                yield
        except TimeoutError:
            raise ToolFailed(f"{str(url)[:200]!r} timed out", code="timeout") from None
        finally:
            self.left -= self.clock.monotonic() - begun


Send = Callable[[_Request], Awaitable[tuple["RawResponse", bool]]]


@dataclass(slots=True)
class _Host:
    places: asyncio.Semaphore
    next_start: float = 0.0
    users: int = 0


class Politeness:
    """Waiters by host.

    Attributes:
        hosts: hosts with current or recent requests.
    """

    def __init__(self, clock: Clock, *, per_host: int, interval_s: float) -> None:
        self.hosts: dict[str, _Host] = {}
        self._clock = clock
        self._per_host = per_host
        self._interval_s = interval_s

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Wait for a turn; a request to `host` may be sent inside."""
        state = self.hosts.setdefault(host, _Host(asyncio.Semaphore(self._per_host)))
        state.users += 1
        try:
            async with state.places:
                now = self._clock.monotonic()
                wait = state.next_start - now
                state.next_start = max(state.next_start, now) + self._interval_s
                if wait > 0:
                    await asyncio.sleep(wait)
                yield
        finally:
            state.users -= 1
            self._forget()

    def _forget(self) -> None:
        now = self._clock.monotonic()
        idle = [
            host for host, state in self.hosts.items() if not state.users and state.next_start < now
        ]
        for host in idle:
            del self.hosts[host]


class Web:
    """`WebAccess`. Connections are opened on demand; `aclose` closes them."""

    def __init__(
        self,
        settings: WebSettings,
        clock: Clock,
        *,
        own_ports: OwnPorts = frozenset,
        resolver: AddressResolver | None = None,
        ssl_context: ssl.SSLContext | None = None,
        network: AsyncNetworkBackend | None = None,
    ) -> None:
        """Create the client.

        Args:
            own_ports: returns the ports on which this service listens.
            resolver, ssl_context, network: by default this machine's.
        """
        from app.operations.web.cache import PageCache
        from app.operations.web.robots_cache import RobotsCache

        self._settings = settings
        self._clock = clock
        self._own_ports = own_ports
        self._destinations = Destinations.of(settings, own_ports)
        self._resolver = resolver
        self._ssl_context = ssl_context
        self._network = network
        self._exchanges: dict[str, Exchange] = {}
        self._cache = PageCache(clock, settings.cache_mb << 20)
        self._politeness = Politeness(
            clock, per_host=settings.per_host, interval_s=settings.host_interval_s
        )
        agent = settings.user_agent.partition("/")[0].partition(" ")[0]
        self._robots = RobotsCache(clock, agent, self._fetch_robots)

    async def aclose(self) -> None:
        """Close every connection."""
        exchanges, self._exchanges = self._exchanges, {}
        for exchange in exchanges.values():
            await exchange.aclose()
        if self._resolver is not None:
            self._resolver.close()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes | None = None,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
        redirects: int = 0,
        trusted: str | None = None,
    ) -> WebResponse:
        origin = None if trusted is None else parse_url(trusted, any_port=True).origin
        start = parse_url(url, any_port=trusted is not None)
        if start.origin != origin:
            start = parse_url(url)
        named = {name.lower() for name in headers}
        own = () if "user-agent" in named else (("User-Agent", self._settings.user_agent),)
        first = _Request(method.upper(), start, (*headers.items(), *own), body)
        send = partial(self._plainly, _TimeBudget(self._clock, timeout_s), max_bytes, origin)
        return await _follow(first, send, redirects)

    async def page(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
        crawling: bool = False,
    ) -> WebResponse:
        wanted = self._settings.respect_robots
        obeys = wanted == "always" or (crawling and wanted == "crawl")
        send = partial(self._politely, _TimeBudget(self._clock, timeout_s), max_bytes, obeys=obeys)
        return await _follow(self._get(parse_url(url)), send, MAX_REDIRECTS)

    async def _politely(
        self,
        budget: _TimeBudget,
        max_bytes: int,
        request: _Request,
        *,
        obeys: bool,
    ) -> tuple[RawResponse, bool]:
        """Return a page from the cache, or from its server within the rate limits."""
        self._destinations.check_host(request.url)
        if obeys:
            await self._robots.check(request.url)
        address = str(request.url)
        kept = self._cache.get(address)
        if kept is not None and self._cache.is_fresh(kept):
            return _within(kept.answer, max_bytes), True
        conditions = [] if kept is None else kept.conditions()
        asked = _Request("GET", request.url, (*request.headers, *conditions))
        answer = await self._in_turn(budget, max_bytes, asked)
        if kept is not None and conditions and answer.status == 304:
            return _within(self._cache.renew(address, kept, answer), max_bytes), True
        self._cache.put(address, answer)
        return answer, False

    async def _in_turn(self, budget: _TimeBudget, max_bytes: int, request: _Request) -> RawResponse:
        async with self._politeness.turn(request.url.host):
            answer, _ = await self._plainly(budget, max_bytes, None, request)
            return answer

    async def _plainly(
        self, budget: _TimeBudget, max_bytes: int, trusted: str | None, request: _Request
    ) -> tuple[RawResponse, bool]:
        url = request.url
        exchange = self._exchange(trusted if url.origin == trusted else "")
        async with budget.spend(url):
            answer = await exchange.send(
                request.method, url, request.headers, request.body, max_bytes
            )
        return answer, False

    async def _fetch_robots(self, url: WebUrl) -> WebResponse:
        budget = _TimeBudget(self._clock, _ROBOTS_S)

        async def send(request: _Request) -> tuple[RawResponse, bool]:
            return await self._in_turn(budget, _MAX_ROBOTS_BYTES, request), False

        return await _follow(self._get(url), send, MAX_REDIRECTS)

    def _get(self, url: WebUrl) -> _Request:
        headers = (("Accept", _ACCEPT), ("User-Agent", self._settings.user_agent))
        return _Request("GET", url, headers)

    def _exchange(self, trusted: str | None) -> Exchange:
        """Return the connections for general use, or for one trusted origin.

        They are separate: an open connection to a trusted origin must not be used for pages.
        """
        key = trusted or ""
        if key not in self._exchanges:
            from app.operations.web.exchange import Exchange
            from app.operations.web.resolver import SystemResolver

            if self._resolver is None:
                self._resolver = SystemResolver()
            anywhere = Destinations(Reach(ANYWHERE, self._own_ports))
            self._exchanges[key] = Exchange(
                anywhere if key else self._destinations,
                resolver=self._resolver,
                ssl_context=self._ssl_context,
                network=self._network,
            )
        return self._exchanges[key]


async def _follow(request: _Request, send: Send, limit: int) -> WebResponse:
    for left in range(limit, -1, -1):
        answer, reused = await send(request)
        place = answer.header("location") if answer.status in _REDIRECTS else None
        if place is None or limit == 0:
            url = str(request.url)
            return WebResponse(url, answer.status, answer.headers, answer.body, reused)
        if left:
            request = request.redirected(answer.status, _target(place, request.url))
    raise _refused(request.url, f"there are more than {limit} redirects")


def _target(place: str, base: WebUrl) -> WebUrl:
    """Return the target of a Location header, often written as UTF-8 but decoded as Latin-1."""
    with suppress(UnicodeError):
        place = place.encode("latin-1").decode("utf-8")
    return parse_url(place, base)


def _within(answer: RawResponse, max_bytes: int) -> RawResponse:
    if len(answer.body) > max_bytes:
        from app.operations.web.bodies import too_large

        raise too_large(max_bytes)
    return answer


def _refused(url: WebUrl, why: str) -> ToolFailed:
    return ToolFailed(
        f"A redirect of {str(url)[:200]!r} is not followed: {why}", code="redirect_refused"
    )
