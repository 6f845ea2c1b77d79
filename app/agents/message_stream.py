"""Message being written by the model: coalesced deltas, and the text so far for new clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

from app.core.text import clean
from app.events.log import SessionLog

WINDOW_S = 0.025
FRAME_CHARS = 4096
SNAPSHOT_CHARS = 64 << 10

DeltaKind = Literal["text_delta", "thinking_delta"]
INPUT = "tool_input_delta"


class MessageStream:
    """Sends at most one delta per kind and window; numbers the model's pieces as chunks."""

    def __init__(self, log: SessionLog, head: dict[str, Any], message_id: str) -> None:
        self._log = log
        self._fields = {**head, "message_id": message_id}
        self._message_id = message_id
        # Kind of the buffered pieces: a kind of delta, or one call's input.
        self._kind: str = "text_delta"
        self._call: tuple[str, str] = ("", "")
        self._waiting: list[str] = []
        self._waiting_chars = 0
        self._timer: asyncio.TimerHandle | None = None
        self._sent: dict[str, int] = {"text_delta": 0, "thinking_delta": 0}
        self._written: dict[str, list[str]] = {"text_delta": [], "thinking_delta": []}
        log.live[message_id] = self

    def add(self, kind: DeltaKind, text: str) -> None:
        """Add one piece of text or thinking."""
        if kind != self._kind:
            self.flush()
            self._kind = kind
        self._take(text)

    def tool_input(self, tool_call_id: str, name: str, partial_json: str) -> None:
        """Add a fragment of a call's arguments; the first one is empty and announces the call
        immediately.
        """
        if self._kind != INPUT or self._call[0] != tool_call_id:
            self.flush()
            self._kind, self._call = INPUT, (tool_call_id, name)
        self._take(partial_json)
        if not partial_json:
            self.flush()

    def _take(self, piece: str) -> None:
        self._waiting.append(clean(piece))
        self._waiting_chars += len(piece)
        if self._waiting_chars >= FRAME_CHARS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW_S, self.flush)

    def flush(self) -> None:
        """Send buffered pieces."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        count, text = len(self._waiting), "".join(self._waiting)
        self._waiting, self._waiting_chars = [], 0
        if self._kind == INPUT:
            self._send_input(text)
            return
        first = self._sent[self._kind]
        self._sent[self._kind] += count
        self._written[self._kind].append(text)
        self._log.send(self._kind, self._delta(first, first + count, text))

    def _send_input(self, partial_json: str) -> None:
        tool_call_id, name = self._call
        fields = {
            **self._fields,
            "tool_call_id": tool_call_id,
            "tool_name": name,
            "partial_json": partial_json,
        }
        self._log.send(INPUT, fields)

    def close(self) -> None:
        """End the stream; the whole message follows as an event."""
        self.flush()
        self._log.live.pop(self._message_id, None)

    def text(self) -> str:
        """Return the text written so far, without thinking."""
        self.flush()
        return "".join(self._written["text_delta"])

    def snapshot(self) -> Iterator[tuple[str, dict[str, Any]]]:
        self.flush()
        for kind, pieces in self._written.items():
            if pieces:
                text = "".join(pieces)[-SNAPSHOT_CHARS:]
                yield kind, self._delta(0, self._sent[kind], text) | {"snapshot": True}

    def _delta(self, first: int, end: int, text: str) -> dict[str, Any]:
        return {
            **self._fields,
            "chunk_from": first,
            "chunk_to": end,
            "text": text,
            "snapshot": False,
        }
