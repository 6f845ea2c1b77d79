"""The scripted server: `async with ScriptedAnthropic() as provider: …`."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tests.support.scripted_anthropic import rules, wire
from tests.support.scripted_anthropic.connection import Connection, Disconnected, HttpRequest
from tests.support.scripted_anthropic.turns import (
    Answer,
    Block,
    Cut,
    Gate,
    HttpError,
    PlainAnswer,
    ScriptItem,
    StreamError,
    Turn,
    Wait,
)

_READ_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """One request to `/v1/messages` that followed the rules.

    Attributes:
        closed_by_client: set if the client disconnected before the end of the response.
        answered: set once the response was sent completely.
    """

    headers: Mapping[str, str]
    body: dict[str, Any]
    closed_by_client: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def api_key(self) -> str:
        return rules.given_key(self.headers)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the conversation, without cache marks and the part appended to each request.

        `body["messages"]` has all of it.
        """
        return [_as_said(message) for message in self.body["messages"]]

    @property
    def tool_names(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", [])]

    def tool_results(self) -> dict[str, dict[str, Any]]:
        """Return the results in the last message, by call ID."""
        blocks = self._last_blocks()
        return {item["tool_use_id"]: item for item in blocks if item["type"] == "tool_result"}

    def last_user_text(self) -> str:
        return "".join(item["text"] for item in self._last_blocks() if item["type"] == "text")

    def _last_blocks(self) -> list[dict[str, Any]]:
        content = self.messages[-1]["content"]
        return [{"type": "text", "text": content}] if isinstance(content, str) else content


class ScriptedAnthropic:
    """`POST /v1/messages` on loopback, answering from a script, one item per request.

    A request that the real API refuses is refused the same way, uses no item and is recorded in
    `refused` instead of `requests`. Requests beyond the script get status 500 with the request. An
    exception of a callable item is raised again at the end of the server.

    Args:
        turns: the initial script.
        fallback: answers after the end of the script.
        api_key: the only accepted key; None accepts any.
        port: 0 selects a free one.
    """

    # Replaced by other wires.
    _wire: wire.Wire = wire
    _id_header = "request-id"

    def __init__(
        self,
        *turns: ScriptItem,
        fallback: ScriptItem | None = None,
        api_key: str | None = None,
        port: int = 0,
    ) -> None:
        self.requests: list[Received] = []
        self.refused: list[str] = []
        self._script = deque(turns)
        self._fallback = fallback
        self._api_key = api_key
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._broken: list[BaseException] = []
        self._arrived = asyncio.Condition()
        self._answers = 0
        self._calls = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def remaining(self) -> int:
        """Return the number of unused items of the script."""
        return len(self._script)

    def script(self, *turns: ScriptItem) -> None:
        """Append to the script."""
        self._script.extend(turns)

    async def received(self, count: int = 1) -> Received:
        """Wait for request number `count`, starting at 1."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self._port, limit=_READ_LIMIT
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
        if self._broken:
            raise self._broken[0]

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._converse(Connection(reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._conversed)

    def _conversed(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken.append(error)

    async def _converse(self, connection: Connection) -> None:
        try:
            while (request := await connection.receive()) is not None:
                await self._answer(connection, request)
        except Disconnected:
            return
        finally:
            await connection.close()

    async def _answer(self, connection: Connection, request: HttpRequest) -> None:
        self._answers += 1
        request_id = f"req_{self._answers:04d}"
        try:
            body = self._checked(request)
        except rules.Refused as refused:
            self.refused.append(refused.error.message)
            await self._send_error(connection, refused.error, request_id)
            return
        if request.path.endswith("/count_tokens"):
            tokens = len(json.dumps(body["messages"], ensure_ascii=False)) // 4 + 1
            await connection.send(200, {"input_tokens": tokens}, {"request-id": request_id})
            return
        received = self._received(request.headers, body)
        async with self._arrived:
            self.requests.append(received)
            self._arrived.notify_all()
        number = len(self.requests)
        answer = await self._next_answer(received, number)
        who = wire.Identity(f"msg_{number:04d}", request_id, body["model"])
        await self._play(connection, received, answer, who)
        received.answered.set()

    def _received(self, headers: Mapping[str, str], body: dict[str, Any]) -> Received:
        return Received(headers, body)

    def _checked(self, request: HttpRequest) -> dict[str, Any]:
        if request.path not in ("/v1/messages", "/v1/messages/count_tokens"):
            raise rules.Refused(HttpError(404, "not_found_error", "Not found"))
        if request.method != "POST":
            raise rules.Refused(HttpError(405, "invalid_request_error", "Method Not Allowed"))
        rules.check_headers(request.headers, len(request.body), self._api_key)
        try:
            body = json.loads(request.body)
        except ValueError:
            message = "The request body is not valid JSON"
            raise rules.Refused(HttpError(400, "invalid_request_error", message)) from None
        rules.check_body(body, counting=request.path.endswith("/count_tokens"))
        checked: dict[str, Any] = body
        return checked

    async def _next_answer(self, received: Received, number: int) -> Answer:
        item = self._script.popleft() if self._script else self._fallback
        if item is None:
            return HttpError(
                500,
                "api_error",
                f"the script has no turn for request {number}: add one with script()",
                {"x-should-retry": "false"},
            )
        if not callable(item):
            return item
        answer = item(received)
        return await answer if inspect.isawaitable(answer) else answer

    async def _play(
        self, connection: Connection, received: Received, answer: Answer, who: wire.Identity
    ) -> None:
        headers = {self._id_header: who.request_id}
        match answer:
            case HttpError():
                await self._send_error(connection, answer, who.request_id)
            case PlainAnswer(body, content_type):
                await connection.send(200, body, headers, content_type)
            case StreamError():
                await connection.begin_stream(headers)
                await connection.send_chunk(self._wire.error_event(answer, who.request_id))
                await connection.end_stream()
            case Turn() if not received.body.get("stream"):
                await connection.send(200, self._wire.whole(self._numbered(answer), who), headers)
            case Turn():
                await connection.begin_stream(headers)
                await self._watch(connection, received, self._numbered(answer), who)

    async def _watch(
        self, connection: Connection, received: Received, turn: Turn, who: wire.Identity
    ) -> None:
        """Send the stream, and stop immediately if the client disconnects."""
        actions = self._wire.stream(turn, who)
        sending = asyncio.create_task(_send_events(connection, actions, turn.chunk_bytes))
        watching = asyncio.create_task(connection.hung_up())
        try:
            await asyncio.wait({sending, watching}, return_when=asyncio.FIRST_COMPLETED)
            broken = sending.result() if sending.done() else None
        finally:
            for task in (sending, watching):
                task.cancel()
            await asyncio.gather(sending, watching, return_exceptions=True)
        if broken is None:
            received.closed_by_client.set()
            raise Disconnected
        if broken:
            return
        # Only now, after all reads: the next request may follow these bytes.
        await connection.end_stream()

    async def _send_error(self, connection: Connection, error: HttpError, request_id: str) -> None:
        headers = {self._id_header: request_id, **error.headers}
        if error.body is not None:
            await connection.send(error.status, error.body, headers)
            return
        body = self._wire.error_body(error.type, error.message, request_id)
        await connection.send(error.status, body, headers)

    def _numbered(self, turn: Turn) -> Turn:
        """Return `turn` with an ID for each call without one."""
        parts = tuple(
            self._with_id(part) if isinstance(part, Block) else part for part in turn.parts
        )
        return turn.with_parts(parts)

    def _with_id(self, block: Block) -> Block:
        if block.start["type"] != "tool_use" or block.start["id"] is not None:
            return block
        self._calls += 1
        name = {"id": f"toolu_{self._calls:04d}"}
        return replace(block, start={**block.start, **name}, whole={**block.whole, **name})


def _as_said(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return message
    said = [
        {name: value for name, value in block.items() if name != "cache_control"}
        for block in content
        if not str(block.get("text", "")).startswith("<reminder>")
    ]
    return {**message, "content": said}


async def _send_events(
    connection: Connection, actions: Iterable[wire.Action], chunk_bytes: int | None
) -> bool | None:
    """Send everything except the end of the response.

    Returns True if the connection was deliberately reset, None if the client disconnected.
    """
    try:
        for action in actions:
            match action:
                case Gate():
                    await action.passed()
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Cut(abrupt=True):
                    connection.abort()
                    return True
                case Cut():
                    return False
                case bytes():
                    for piece in _split(action, chunk_bytes):
                        await connection.send_chunk(piece)
    except Disconnected:
        return None
    return False


def _split(data: bytes, size: int | None) -> Iterable[bytes]:
    if size is None:
        return (data,)
    return (data[start : start + size] for start in range(0, len(data), size))
