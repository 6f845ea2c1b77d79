"""Connection to one running language server: requests, responses and notifications."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import OrderedDict
from typing import Any

from app.config.language_servers import LanguageServerSettings
from app.core.errors import TollgateError, ToolFailed
from app.operations.language_servers.wire import BrokenWire, MessageReader, frame
from app.operations.protocols.processes import (
    ProcessLimits,
    ProcessOperations,
    ProcessSpec,
    RunningProcess,
)

_log = logging.getLogger(__name__)

_MAX_QUEUED = 2_000
_MAX_WORDS = 2_000
_MAX_PUBLISHED = 64
_CPU_S = 3_600
_OPEN_FILES = 4_096


class Peer:
    """Server process with its connection; usable between `start` and `close`.

    Attributes:
        published: diagnostics published by the server: URI → (version, list).
        arrived: event set whenever `published` has changed.
    """

    def __init__(
        self, settings: LanguageServerSettings, processes: ProcessOperations, *, memory_bytes: int
    ) -> None:
        self.published: OrderedDict[str, tuple[int | None, list[Any]]] = OrderedDict()
        self.arrived = asyncio.Event()
        self._settings = settings
        self._processes = processes
        self._memory_bytes = memory_bytes
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(_MAX_QUEUED)
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life: asyncio.Task[None] | None = None
        self._last_words = ""

    @property
    def alive(self) -> bool:
        return self._life is not None and not self._life.done()

    async def start(self) -> None:
        """Start the process.

        Raises:
            ToolFailed: `program_not_found`, `sandbox_unavailable`.
        """
        self._life = asyncio.create_task(
            self._live(), name=f"language server {self._settings.name}"
        )
        await asyncio.shield(self._opened)

    async def request(self, method: str, params: Any, *, timeout_s: float) -> Any:
        """Return the result of a request.

        Raises:
            ToolFailed: `language_server_error` if the server refuses, `language_server_died`, or
                `timeout`.
        """
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            self._send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            self._send_if_alive({"method": "$/cancelRequest", "params": {"id": number}})
            raise ToolFailed(
                f"The language server {self._settings.name!r} did not answer within "
                f"{timeout_s:g} s; try again, it may still be indexing the workspace",
                code="timeout",
                server=self._settings.name,
            ) from None
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification to the server.

        Raises:
            ToolFailed: `language_server_died`.
        """
        self._send({"method": method, "params": params})

    async def close(self) -> None:
        """End the process and its children; may be called repeatedly."""
        life = self._life
        if life is None:
            return
        life.cancel()
        await asyncio.wait({life})
        if not life.cancelled() and (error := life.exception()) is not None:
            _log.error("language server %s failed", self._settings.name, exc_info=error)

    def check_alive(self) -> None:
        """Check that the process runs. Raises ToolFailed `language_server_died`."""
        if not self.alive:
            raise self._died()

    def _send_if_alive(self, message: dict[str, Any]) -> None:
        if self.alive:
            self._send(message)

    def _send(self, message: dict[str, Any]) -> None:
        self.check_alive()
        try:
            self._outbox.put_nowait(frame(message))
        except asyncio.QueueFull:
            # It no longer reads.
            assert self._life is not None
            self._life.cancel()
            raise self._died() from None

    async def _live(self) -> None:
        spec = ProcessSpec(
            argv=tuple(self._settings.command),
            env=self._settings.env,
            limits=ProcessLimits(
                cpu_s=_CPU_S,
                memory_bytes=self._memory_bytes,
                open_files=_OPEN_FILES,
                output_bytes=None,
            ),
            interactive=True,
            network=False,
        )
        try:
            async with self._processes.open(spec) as process:
                self._opened.set_result(None)
                await self._converse(process)
        except TollgateError as error:
            if not self._opened.done():
                self._opened.set_exception(error)
            self._last_words = error.message
        except BrokenWire as error:
            self._last_words = f"it sent {error}"
        finally:
            self._give_up()

    async def _converse(self, process: RunningProcess) -> None:
        writing = asyncio.create_task(self._write(process))
        reader = MessageReader()
        try:
            async for chunk in process.output():
                if chunk.stream == "stderr":
                    words = self._last_words + chunk.data.decode("utf-8", "replace")
                    self._last_words = words[-_MAX_WORDS:]
                    continue
                for message in reader.feed(chunk.data):
                    self._receive(message)
        finally:
            writing.cancel()
            await asyncio.wait({writing})

    async def _write(self, process: RunningProcess) -> None:
        try:
            while True:
                await process.write(await self._outbox.get())
        except ToolFailed:
            # Its input is closed; the end of its output shows that it has ended.
            return

    def _give_up(self) -> None:
        if not self._opened.done():
            self._opened.set_exception(self._died())
            self._opened.exception()  # the waiter may have given up
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(self._died())
        self.arrived.set()

    def _died(self) -> ToolFailed:
        words = " ".join(self._last_words.split())[-500:]
        return ToolFailed(
            f"The language server {self._settings.name!r} has exited"
            + (f": {words}" if words else ""),
            code="language_server_died",
            server=self._settings.name,
        )

    def _receive(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:
            self._answered(message)
        elif number is not None:
            self._reply(str(method), number, message.get("params"))
        elif method == "textDocument/publishDiagnostics":
            self._publish(message.get("params"))

    def _answered(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        answer = self._pending.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
            return
        said = error.get("message") if isinstance(error, dict) else error
        answer.set_exception(
            ToolFailed(
                f"The language server {self._settings.name!r} refused: {str(said)[:500]}",
                code="language_server_error",
                server=self._settings.name,
            )
        )

    def _reply(self, method: str, number: Any, params: Any) -> None:
        result: Any = None
        if method == "workspace/configuration":
            result = [self._configured(item) for item in _items(params)]
        elif method == "workspace/applyEdit":
            # Responses are read, but a server's requests never change anything.
            result = {"applied": False}
        elif not method.endswith("/refresh") and method not in _ACCEPTED:
            unknown = {"code": -32601, "message": "not supported"}
            self._send_if_alive({"id": number, "error": unknown})
            return
        self._send_if_alive({"id": number, "result": result})

    def _configured(self, item: Any) -> Any:
        section = item.get("section") if isinstance(item, dict) else None
        value: Any = self._settings.settings
        for part in str(section).split(".") if section else ():
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def _publish(self, params: Any) -> None:
        if not isinstance(params, dict) or not isinstance(params.get("diagnostics"), list):
            return
        version = params.get("version")
        uri = str(params.get("uri"))
        self.published[uri] = (version if isinstance(version, int) else None, params["diagnostics"])
        self.published.move_to_end(uri)
        if len(self.published) > _MAX_PUBLISHED:
            self.published.popitem(last=False)
        self.arrived.set()


_ACCEPTED = frozenset(
    {
        "client/registerCapability",
        "client/unregisterCapability",
        "window/workDoneProgress/create",
        "window/showMessageRequest",
    }
)


def _items(params: Any) -> list[Any]:
    items = params.get("items") if isinstance(params, dict) else None
    return items[:1000] if isinstance(items, list) else []
