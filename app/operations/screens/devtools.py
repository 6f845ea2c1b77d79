"""Client of Chromium's DevTools protocol over a pipe."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import orjson

from app.core.errors import ToolFailed
from app.operations.protocols.processes import RunningProcess

_MAX_MESSAGE = 96 << 20
_MAX_WORDS = 2_000
_END = b"\0"

OnEvent = Callable[[str, dict[str, Any]], None]


class DevTools:
    """Commands to a browser and events from it, while `converse` runs."""

    def __init__(self, process: RunningProcess) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._expected: list[asyncio.Future[None]] = []
        self._sending = asyncio.Lock()
        self._words = ""
        self._is_over = False
        self.on_event: OnEvent = lambda _method, _params: None

    async def command(
        self, method: str, params: dict[str, Any] | None = None, *, session: str | None = None
    ) -> dict[str, Any]:
        """Run a command.

        Raises:
            ToolFailed: `browser_failed` if the browser refuses or has ended.
        """
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            if self._is_over:
                raise self._gone()
            async with self._sending:
                await self._process.write(orjson.dumps(message) + _END)
            return await answer
        except ToolFailed as error:
            if error.details.get("code") == "input_closed":
                raise self._gone() from None
            raise
        finally:
            self._pending.pop(number, None)

    def expect(self) -> asyncio.Future[None]:
        """Return a future for `on_event` to resolve; it fails if the browser ends before."""
        expected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._expected.append(expected)
        return expected

    async def converse(self) -> None:
        """Read the browser's messages until it ends.

        Raises:
            ToolFailed: `browser_failed` if it sends an invalid message.
        """
        buffer = bytearray()
        try:
            async for chunk in self._process.output():
                if chunk.stream == "stderr":
                    said = self._words + chunk.data.decode("utf-8", "replace")
                    self._words = said[-_MAX_WORDS:]
                    continue
                buffer += chunk.data
                if _END in chunk.data:
                    *whole, rest = bytes(buffer).split(_END)
                    buffer = bytearray(rest)
                    for message in whole:
                        self._receive(message)
                if len(buffer) > _MAX_MESSAGE:
                    raise ToolFailed(
                        "The browser sent too much data at once", code="browser_failed"
                    )
        finally:
            self._is_over = True
            waiting: list[asyncio.Future[Any]] = [*self._pending.values(), *self._expected]
            for answer in waiting:
                if not answer.done():
                    answer.set_exception(self._gone())
                    answer.exception()  # possibly without a waiter

    def _receive(self, raw: bytes) -> None:
        try:
            message = orjson.loads(raw)
        except ValueError:
            raise ToolFailed("The browser sent invalid JSON", code="browser_failed") from None
        if not isinstance(message, dict):
            return
        if "id" not in message:
            self.on_event(str(message.get("method")), message.get("params") or {})
            return
        answer = self._pending.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" in message:
            said = str(message["error"].get("message", message["error"]))[:500]
            answer.set_exception(ToolFailed(f"The browser refused: {said}", code="browser_failed"))
        else:
            answer.set_result(message.get("result") or {})

    def _gone(self) -> ToolFailed:
        words = " ".join(self._words.split())[-500:]
        return ToolFailed(
            "The browser has exited" + (f": {words}" if words else ""), code="browser_failed"
        )
