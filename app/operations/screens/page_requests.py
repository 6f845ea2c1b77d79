"""Answers to a page's requests, with content fetched for it."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app.core.errors import ToolFailed
from app.operations.web.urls import parse_url

if TYPE_CHECKING:
    from app.operations.web.exchange import Exchange
    from app.operations.web.raw_response import RawResponse

_log = logging.getLogger(__name__)

_MAX_REQUESTS = 500
_MAX_BYTES = 16 << 20
_MAX_TOTAL = 128 << 20
_AT_ONCE = 8
_MAX_REFUSED = 20
# Created from content the page already has: nothing is fetched.
_INSIDE = frozenset({"data", "blob", "about"})
# Chromium's internal schemes.
_NOT_ASKED = frozenset(
    {"authorization-internal", "x-devtools-emulate-network-conditions-client-id"}
)
# Headers of our connection, and of the encoded body.
_NOT_SHOWN = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
)

Command = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class PageRequests:
    """Requests of one page.

    Attributes:
        refused: requests not fetched, with reasons.
        first_error: reason of the first failed request.
    """

    def __init__(self, exchange: Exchange, command: Command) -> None:
        self.refused: list[str] = []
        self.first_error: ToolFailed | None = None
        self._exchange = exchange
        self._command = command
        self._tasks: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._count = 0
        self._left = _MAX_TOTAL

    def paused(self, event: dict[str, Any]) -> None:
        """Handle a paused request of the browser."""
        task = asyncio.ensure_future(self._answer(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop answering."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _answer(self, event: dict[str, Any]) -> None:
        number = str(event.get("requestId"))
        try:
            request = event.get("request") or {}
            if urlsplit(str(request.get("url"))).scheme in _INSIDE:
                await self._command("Fetch.continueRequest", {"requestId": number})
                return
            try:
                fetched = await self._fetch(request)
            except (ToolFailed, ValueError) as error:
                self._note(str(request.get("url")), error)
                failed = {"requestId": number, "errorReason": "BlockedByClient"}
                await self._command("Fetch.failRequest", failed)
            else:
                await self._command("Fetch.fulfillRequest", _response(number, fetched))
        except (ToolFailed, ValueError) as error:
            # The page has navigated, or the browser has ended: its waiter will notice.
            _log.debug("request of a page not answered: %s", error)

    async def _fetch(self, request: dict[str, Any]) -> RawResponse:
        self._count += 1
        if self._count > _MAX_REQUESTS or self._left <= 0:
            raise ToolFailed("The page makes too many requests", code="limit_reached")
        headers = request.get("headers")
        posted = request.get("postData")
        async with self._places:
            fetched = await self._exchange.send(
                str(request.get("method", "GET")),
                parse_url(str(request.get("url"))),
                _without(_pairs(headers), _NOT_ASKED),
                posted.encode("utf-8", "replace") if isinstance(posted, str) else None,
                min(_MAX_BYTES, self._left),
            )
        self._left -= len(fetched.body)
        return fetched

    def _note(self, url: str, error: ToolFailed | ValueError) -> None:
        if self.first_error is None and isinstance(error, ToolFailed):
            self.first_error = error
        if len(self.refused) < _MAX_REFUSED:
            self.refused.append(f"{url[:300]}: {error}")


def _response(number: str, fetched: RawResponse) -> dict[str, Any]:
    return {
        "requestId": number,
        "responseCode": fetched.status,
        "responseHeaders": [
            {"name": name, "value": value} for name, value in _without(fetched.headers, _NOT_SHOWN)
        ],
        "body": base64.b64encode(fetched.body).decode("ascii"),
    }


def _pairs(headers: Any) -> list[tuple[str, str]]:
    found = headers.items() if isinstance(headers, dict) else ()
    return [(str(name), str(value)) for name, value in found]


def _without(headers: Iterable[tuple[str, str]], left_out: frozenset[str]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in left_out]
