"""What the web tools need, as Protocols, and the names of the services."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from app.operations.protocols.operations import Operations

WEB_ACCESS = "web_access"
"""An `app.operations.web.protocol.WebAccess`."""
WEB_SEARCH = "web.search_provider"
"""A `SearchEngine`. Called as the setting is that brings it."""
EVENT_LOOP = "event_loop"
"""The service's own, for tools in threads."""
PAGE_SANDBOX = "page_rooms"
"""`PageSandbox`, where pages are read."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result of a search."""

    title: str
    url: str
    snippet: str

    def to_dict(self) -> dict[str, str]:
        """The seeds' three keys."""
        return asdict(self)


@runtime_checkable
class SearchEngine(Protocol):
    """Searches the web.

    Attributes:
        name: who answers.
    """

    name: str

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        """At most `max_results`, the best first.

        Raises:
            ToolFailed: `provider_failed`, `provider_refused`, `rate_limited`, `timeout`,
                `not_installed`.
        """


@runtime_checkable
class PageSandbox(Protocol):
    """Rooms without files and network, in which a hostile page can do nothing."""

    def open(self) -> AbstractAsyncContextManager[Operations]:
        """A room that is gone afterwards."""
