"""Live output of a running call: coalesced for clients, counted, and spilled to disk.

Clients get at most one `tool_result_streamed` per stream and window; the whole output is spooled up
to a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from app.core.redaction import Redactor
from app.core.text import clean
from app.events.log import SessionLog
from app.execution.artifacts import Spool
from app.execution.context import OnOutput
from app.toolkit.context import Output, OutputStream

WINDOW_S = 0.025
FRAME_CHARS = 16 << 10
TAIL_CHARS = 64 << 10
SPILL_CHUNK = 256 << 10
SPILL_LIMIT = 64 << 20


class StreamedOutput:
    """Live output of a streaming tool.

    The executor calls `write` for each item that the tool yields; it awaits only for the disk.
    Chunks are numbered per stream.
    """

    def __init__(
        self,
        log: SessionLog,
        head: dict[str, Any],
        spool: Spool,
        redactor: Redactor,
        on_output: OnOutput | None = None,
    ) -> None:
        self._log = log
        self._head = head
        self._spool = spool
        self._redactor = redactor
        self._on_output = on_output
        self._waiting: list[tuple[OutputStream, str]] = []
        self._waiting_chars = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unspilled: list[bytes] = []
        self._unspilled_size = 0
        self._tail = _Tail()
        self._tails: dict[OutputStream, _Tail] = {}
        self._sent: dict[OutputStream, int] = {}
        self._held: dict[OutputStream, str] = {}
        self.chunks = 0
        self.size = 0

    async def write(self, item: Output | str) -> None:
        """Add a piece of output."""
        output = Output(item) if isinstance(item, str) else item
        if not output.text:
            return
        text = self._redacted(output)
        if text:
            self._keep(output.stream, text)
        if self._unspilled_size >= SPILL_CHUNK:
            await self.spill()

    def finish(self) -> None:
        """Send all remaining output at the end."""
        for stream, text in self._held.items():
            self._keep(stream, self._redactor.text(text))
        self._held = {}
        self.flush()

    def _redacted(self, output: Output) -> str:
        """Return the output that may be sent now; the start of a possible secret is held back."""
        waiting = self._held.pop(output.stream, "")
        text, held = self._redactor.passing(waiting + clean(output.text))
        if held:
            self._held[output.stream] = held
        return text

    def _keep(self, stream: OutputStream, text: str) -> None:
        self.chunks += 1
        if self._on_output is not None:
            self._on_output(stream, text)
        self._tail.add(text)
        self._tails.setdefault(stream, _Tail()).add(text)
        self._waiting.append((stream, text))
        self._waiting_chars += len(text)
        if self._waiting_chars >= FRAME_CHARS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW_S, self.flush)
        encoded = text.encode()
        self.size += len(encoded)
        if self.size <= SPILL_LIMIT:
            self._unspilled.append(encoded)
            self._unspilled_size += len(encoded)

    def flush(self) -> None:
        """Send buffered output, one event per run of one stream."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting, self._waiting_chars = self._waiting, [], 0
        start = 0
        while start < len(waiting):
            stream = waiting[start][0]
            end = start
            while end < len(waiting) and waiting[end][0] == stream:
                end += 1
            self._send(stream, "".join(text for _, text in waiting[start:end]), end - start)
            start = end

    async def spill(self) -> None:
        """Write buffered output to the spool."""
        if self._unspilled:
            data = b"".join(self._unspilled)
            self._unspilled, self._unspilled_size = [], 0
            await asyncio.to_thread(self._spool.write, data)

    def snapshot(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the tail of each stream so far, for a client that joins now."""
        self.flush()
        for stream, sent in self._sent.items():
            fields = {
                **self._head,
                "stream": stream,
                "chunk_from": 0,
                "chunk_to": sent,
                "text": self._tails[stream].text(),
                "snapshot": True,
            }
            yield "tool_result_streamed", fields

    def text(self) -> str:
        """Return the last `TAIL_CHARS` characters of all output."""
        return self._tail.text()

    def _send(self, stream: OutputStream, text: str, count: int) -> None:
        first = self._sent.get(stream, 0)
        for offset in range(0, len(text), TAIL_CHARS):
            last = offset + TAIL_CHARS >= len(text)
            fields = {
                **self._head,
                "stream": stream,
                "chunk_from": first,
                "chunk_to": first + (count if last else 0),
                "text": text[offset : offset + TAIL_CHARS],
                "snapshot": False,
            }
            self._log.send("tool_result_streamed", fields)
        self._sent[stream] = first + count


class _Tail:
    """Last `TAIL_CHARS` characters of a growing text."""

    __slots__ = ("_chars", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._chars = 0

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._chars += len(text)
        if self._chars > 2 * TAIL_CHARS:
            kept = self.text()
            self._pieces, self._chars = [kept], len(kept)

    def text(self) -> str:
        return "".join(self._pieces)[-TAIL_CHARS:]
