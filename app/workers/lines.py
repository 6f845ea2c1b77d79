"""Splitting of a byte stream into lines, with at most one frame in memory."""

from __future__ import annotations

from collections.abc import Iterator

from app.agents.delegation.frames import MAX_FRAME, WorkerProtocolError


class LineBuffer:
    """Buffer for the incomplete last line."""

    def __init__(self, most: int = MAX_FRAME) -> None:
        self._most = most
        self._begun = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that end in `data`, with their line endings.

        Raises:
            WorkerProtocolError: a line exceeds the size of a frame.
        """
        start = 0
        while start < len(data):
            end = data.find(b"\n", start) + 1
            self._begun += data[start : end or len(data)]
            if len(self._begun) > self._most:
                self._begun.clear()
                raise WorkerProtocolError(f"A worker sent a line longer than {self._most} bytes")
            if not end:
                return
            line = bytes(self._begun)
            self._begun.clear()
            yield line
            start = end


class Tail:
    """Last bytes of a stream."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = b""

    def add(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-self._most :]

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()
