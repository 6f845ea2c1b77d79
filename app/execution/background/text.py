"""From the bytes of two streams to text that may be shown."""

from __future__ import annotations

import codecs
from typing import Literal

from app.core.redaction import Redactor

Stream = Literal["stdout", "stderr"]


class ShownText:
    """Decodes each stream as it comes and masks secrets, also those that come in two pieces."""

    def __init__(self, redactor: Redactor) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._redactor = redactor
        self._decoders = {"stdout": decoder("replace"), "stderr": decoder("replace")}
        self._held: dict[Stream, str] = {"stdout": "", "stderr": ""}

    def add(self, stream: Stream, data: bytes) -> str:
        """What of the stream may be shown now."""
        text = self._held[stream] + self._decoders[stream].decode(data)
        shown, self._held[stream] = self._redactor.passing(text)
        return shown

    def finish(self, stream: Stream) -> str:
        """What was held back, at the stream's end."""
        text = self._held[stream] + self._decoders[stream].decode(b"", final=True)
        self._held[stream] = ""
        return self._redactor.text(text)
