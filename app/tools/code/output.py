"""Output of code: decoded incrementally, limited in size."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Literal

from app.operations.protocols.processes import ProcessChunk
from app.toolkit.context import Output
from app.tools.shell.transcript import Transcript

Stream = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, ...] = ("stdout", "stderr")


class Printed:
    """Both streams, each limited to its beginning and end within `limit` characters."""

    def __init__(self, limit: int) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: decoder("replace") for stream in STREAMS}
        self._transcript = Transcript(limit)

    def add(self, chunk: ProcessChunk) -> Iterator[Output]:
        """Yield the text completed by a chunk."""
        return self._keep(chunk.stream, self._decoders[chunk.stream].decode(chunk.data))

    def finish(self) -> Iterator[Output]:
        """Return the replacement for incomplete characters at the end."""
        for stream in STREAMS:
            yield from self._keep(stream, self._decoders[stream].decode(b"", final=True))

    def text(self, stream: Stream) -> str:
        """Return a whole stream, shortened in the middle if it is too long."""
        return self._transcript.text(stream)

    @property
    def truncated(self) -> bool:
        return self._transcript.truncated

    def _keep(self, stream: Stream, text: str) -> Iterator[Output]:
        if text:
            output = Output(text, stream)
            self._transcript.add(output)
            yield output
