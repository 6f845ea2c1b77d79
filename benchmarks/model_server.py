"""Scripted model provider on loopback, with the wire protocol of the Messages API.

    python -m benchmarks.model_server TURNS

The first printed line is `{"url": …}`. Each conversation gets `TURNS` calls of `add`, and then a
text, without delay. `GET /ended/N` waits until N conversations have had their text, and answers
with the seconds from the first request to the last text since the previous `GET /ended`.
`GET /bodies` answers with one request of each turn, as a list of texts in their order.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import count
from typing import Any, cast

import uvloop

from benchmarks.bare import say
from benchmarks.sample_tools import add_arguments

_RESULT = b'"type":"tool_result"'
_FAILED = b'"is_error":true'
_PIECE = 12
"""Characters of one piece of a call's arguments."""
_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"request-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n"
)


class Script:
    """Answers of the model, and what has been asked so far."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._numbers = count(1)
        self._began: float | None = None
        self._last = 0.0
        self._ended = 0
        self._bodies: dict[int, str] = {}
        self._changed = asyncio.Event()

    def answer(self, body: bytes) -> bytes:
        """Return the response to a request for a message.

        Raises:
            ValueError: a call has failed; the client then gets no answer.
        """
        if _FAILED in body:
            raise ValueError("a call failed")
        self._began = self._began or time.perf_counter()
        taken = body.count(_RESULT)
        if taken not in self._bodies:
            self._bodies[taken] = body.decode()
        if taken < self._turns:
            return _streamed(_call(next(self._numbers)), "tool_use")
        self._ended += 1
        self._last = time.perf_counter()
        self._changed.set()
        return _streamed(_text("Done."), "end_turn")

    async def ended(self, wanted: int) -> float:
        """Wait for the end of `wanted` conversations; return the seconds that they took."""
        while self._ended < wanted:
            self._changed.clear()
            await self._changed.wait()
        assert self._began is not None
        took, self._began, self._ended = self._last - self._began, None, 0
        return took

    def bodies(self) -> list[str]:
        """Return one request of each turn."""
        return [self._bodies[taken] for taken in sorted(self._bodies)]


class Connection(asyncio.Protocol):
    """One client, which sends a request after each response."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head, start = bytes(self._received[:end]), end + 4
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(self._received) < start + int(length or 0):
            return
        body = bytes(self._received[start:])
        self._received.clear()
        path = head.split(b" ", 2)[1].decode()
        if path.startswith("/v1/messages"):
            self._write(self._script.answer(body))
        else:
            self._answering = asyncio.ensure_future(self._report(path))

    async def _report(self, path: str) -> None:
        wanted = path.rpartition("/")[2]
        value: Any = (
            self._script.bodies() if wanted == "bodies" else await self._script.ended(int(wanted))
        )
        body = json.dumps(value).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        self._write(head.encode() + b"\r\n\r\n" + body)

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)


def _call(number: int) -> list[dict[str, Any]]:
    """Return the events of a call, its arguments in pieces."""
    block = {"type": "tool_use", "id": f"toolu_{number:020}", "name": "add", "input": {}}
    written = add_arguments(number)
    pieces = [written[place : place + _PIECE] for place in range(0, len(written), _PIECE)]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
    return _block(block, deltas)


def _text(text: str) -> list[dict[str, Any]]:
    return _block({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}])


def _block(block: dict[str, Any], deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
    ]


def _streamed(block: list[dict[str, Any]], stop_reason: str) -> bytes:
    """Return a response with one block, each event in a chunk of its own."""
    message: dict[str, Any] = {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        *block,
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    chunks = []
    for event in events:
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        chunks.append(b"%x\r\n%b\r\n" % (len(data), data))
    return _STREAM + b"".join(chunks) + b"0\r\n\r\n"


async def _serve(turns: int) -> None:
    script = Script(turns)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(script), "127.0.0.1", 0, backlog=2048)
    say({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"})
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
