"""Search results, and the services of web tools."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from app.operations.protocols.operations import Operations

WEB_ACCESS = "web_access"
"""An `app.operations.web.protocol.WebAccess`."""
WEB_SEARCH = "web.search_provider"
"""A `SearchEngine`, named after its setting."""
EVENT_LOOP = "event_loop"
"""The event loop of the service, for tools in threads."""
PAGE_SANDBOX = "page_rooms"
"""`PageSandbox`, in which pages are parsed."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result of a search."""

    title: str
    url: str
    snippet: str

    def to_dict(self) -> dict[str, str]:
        """Return the three keys of the original tool."""
        return asdict(self)


@runtime_checkable
class SearchEngine(Protocol):
    """Searches the web.

    Attributes:
        name: name of the engine.
    """

    name: str

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        """Return at most `max_results` results, best first.

        Raises:
            ToolFailed: `provider_failed`, `provider_refused`, `rate_limited`, `timeout`,
                `not_installed`.
        """


@runtime_checkable
class PageSandbox(Protocol):
    """Sandboxes without files and network, safe for hostile pages."""

    def open(self) -> AbstractAsyncContextManager[Operations]:
        """Create a sandbox, deleted afterwards."""
