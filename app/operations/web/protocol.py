"""Requests to the web, as every tool makes them.

A request reaches the public Internet and what the operator allows, nothing else: each
address of each hop is checked, and the connection goes to an address that was checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, runtime_checkable

TIMEOUT_S = 30.0
MAX_BYTES = 10_000_000
MAX_REDIRECTS = 5
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WebResponse:
    """An answer, its body decoded.

    Attributes:
        url: where it came from, after redirects.
        headers: names in lower case, in the order of the answer.
        body: without content encoding.
        reused: it was kept from an earlier request; the server may have been asked whether
            it still holds.
    """

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    reused: bool = False

    @property
    def ok(self) -> bool:
        """Whether the status says success: 200 to 299."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """The first header of that name, in lower case."""
        return next((value for key, value in self.headers if key == name), None)


@runtime_checkable
class WebAccess(Protocol):
    """The web, for tools.

    Every method raises `ToolFailed` with a code: `invalid_url`, `address_refused` (the
    address is not public), `host_refused` (the operator's lists), `robots_refused`,
    `redirect_refused` (too many, or from https to http), `fetch_failed`, `file_too_large`,
    `timeout`. A status of 400 or more is an answer and raises nothing.
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
        """One request of ours, for the programs of others: no cache, no robots.txt.

        Args:
            headers: sent as they are; after a redirect to another origin only `accept`,
                `accept-language`, `content-type` and `user-agent` of them.
            timeout_s: seconds for all of it, redirects and body included.
            max_bytes: of the body, as it comes and decoded.
            redirects: how many are followed; by default a redirect is the answer.
            trusted: an address from the OPERATOR'S settings, never one that a model or a page
                has named. Its scheme, host and port may be reached wherever they lead.
        """

    async def page(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
        crawling: bool = False,
    ) -> WebResponse:
        """GET a page that a model asks for, politely, with redirects, from the cache if it holds.

        Args:
            crawling: it is one of several; `web.respect_robots` may make a difference there.
        """
