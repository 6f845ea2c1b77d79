"""Live output of a running call: coalesced for clients, counted, and spilled to disk.

Clients get at most one `tool_result_streamed` per stream and window; the whole output is spooled up
to a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
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
    Secrets are searched once per window and stream, because output comes in small pieces. Chunks
    are numbered per stream.
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
        self._ready: list[tuple[OutputStream, str, int]] = []
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
        self._waiting.append((output.stream, output.text))
        self._waiting_chars += len(output.text)
        if self._on_output is not None:
            self._redact()  # it receives each piece
        if self._waiting_chars >= FRAME_CHARS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW_S, self.flush)
        if self._unspilled_size >= SPILL_CHUNK:
            await self.spill()

    def finish(self) -> None:
        """Send all remaining output at the end."""
        self._redact()
        held, self._held = self._held, {}
        for stream, text in held.items():
            self._keep(stream, self._redactor.text(text), 1)
        self.flush()

    def flush(self) -> None:
        """Send buffered output, one event per run of one stream."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._redact()
        self._waiting_chars = 0
        ready, self._ready = self._ready, []
        for stream, run in groupby(ready, key=itemgetter(0)):
            pieces = list(run)
            text = "".join(text for _, text, _ in pieces)
            self._send(stream, text, sum(count for _, _, count in pieces))

    def _redact(self) -> None:
        """Search the output that waits for secrets."""
        waiting, self._waiting = self._waiting, []
        for stream, run in groupby(waiting, key=itemgetter(0)):
            pieces = [text for _, text in run]
            self._keep(stream, self._redacted(stream, "".join(pieces)), len(pieces))

    def _redacted(self, stream: OutputStream, text: str) -> str:
        """Return the output that may be sent now; the start of a possible secret is held back."""
        waiting = self._held.pop(stream, "")
        shown, held = self._redactor.passing(waiting + clean(text))
        if held:
            self._held[stream] = held
        return shown

    def _keep(self, stream: OutputStream, text: str, count: int) -> None:
        """Keep output without secrets, which came in `count` pieces."""
        if not text:
            return
        self.chunks += count
        if self._on_output is not None:
            self._on_output(stream, text)
        self._tail.add(text)
        self._tails.setdefault(stream, _Tail()).add(text)
        encoded = text.encode()
        self.size += len(encoded)
        if self.size <= SPILL_LIMIT:
            self._unspilled.append(encoded)
            self._unspilled_size += len(encoded)
        self._ready.append((stream, text, count))

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
        """Send buffered output, and return the last `TAIL_CHARS` characters of all output."""
        self.flush()
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
