"""Protocol of web requests for all tools.

A request reaches the public Internet and what the operator allows, nothing else: each address of
each hop is checked, and the connection uses a checked address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from app.core.errors import ToolFailed

TIMEOUT_S = 30.0
MAX_BYTES = 10_000_000
MAX_REDIRECTS = 5
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class NotConnected(ToolFailed):
    """No connection was made, so nothing was sent; its code is `fetch_failed`."""


@dataclass(frozen=True, slots=True)
class WebResponse:
    """Response with its decoded body.

    Attributes:
        url: final address, after redirects.
        headers: names in lower case, in the order of the response.
        body: without content encoding.
        reused: it comes from the cache, possibly revalidated by the server.
    """

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    reused: bool = False

    @property
    def ok(self) -> bool:
        """Return whether the status is a success: 200 to 299."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """Return the first header with the name, in lower case."""
        return next((value for key, value in self.headers if key == name), None)


@runtime_checkable
class WebAccess(Protocol):
    """The web, for tools.

    Every method raises `ToolFailed` with a code: `invalid_url`, `address_refused` (the address is
    not public), `host_refused` (the operator's lists), `robots_refused`, `redirect_refused` (too
    many, or from https to http), `fetch_failed`, `file_too_large`, `timeout`. A status of 400 or
    more is a response and raises nothing.
    """

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
        """Send one request on behalf of a program: no cache, no robots.txt.

        Args:
            headers: sent unchanged; after a redirect to another origin only `accept`,
                `accept-language`, `content-type` and `user-agent` of them.
            timeout_s: seconds in total, including redirects and body.
            max_bytes: limit of the body, raw and decoded.
            redirects: maximum redirects to follow; by default a redirect is the response.
            trusted: an address from the OPERATOR'S settings, never from a model or a page. Its
                scheme, host and port are allowed at any address.
        """

    async def page(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
        crawling: bool = False,
    ) -> WebResponse:
        """GET a page requested by a model, within rate limits, with redirects, from the cache if
        fresh.

        Args:
            crawling: it is one of several; relevant for `web.respect_robots`.
        """
