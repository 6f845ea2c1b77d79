"""Output of a command, limited in size."""

from __future__ import annotations

from app.toolkit.context import Output
from app.tools.shell.frames import Frames


class BoundedText:
    """Beginning and end of a text, together at most `limit` (>= 2) characters."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._tail_room = limit - limit // 2
        self._head = ""
        self._tail = ""
        self._total = 0

    def add(self, text: str) -> None:
        self._total += len(text)
        taken = self._head_room - len(self._head)
        if taken > 0:
            self._head += text[:taken]
            text = text[taken:]
        if text:
            self._tail = (self._tail + text)[-self._tail_room :]

    @property
    def omitted(self) -> int:
        """Return the number of dropped characters."""
        return self._total - len(self._head) - len(self._tail)

    def __str__(self) -> str:
        if not self.omitted:
            return self._head + self._tail
        return f"{self._head}\n… [{self.omitted} characters omitted] …\n{self._tail}"


class Transcript:
    """Both streams of one command as a terminal would show them, each within `limit` characters."""

    def __init__(self, limit: int) -> None:
        self._texts = {stream: BoundedText(limit) for stream in ("stdout", "stderr")}
        self._frames = {stream: Frames(text.add) for stream, text in self._texts.items()}

    def add(self, piece: Output) -> None:
        self._frames[piece.stream].add(piece.text)

    @property
    def stdout(self) -> str:
        return self.text("stdout")

    @property
    def stderr(self) -> str:
        return self.text("stderr")

    def text(self, stream: str) -> str:
        """Return a whole stream, shortened in the middle if it is too long."""
        self._frames[stream].finish()
        return str(self._texts[stream])

    @property
    def truncated(self) -> bool:
        for frames in self._frames.values():
            frames.finish()
        return any(text.omitted for text in self._texts.values())


def clip(text: str, limit: int) -> str:
    """Return beginning and end of `text`, at most `limit` characters and a note."""
    bounded = BoundedText(limit)
    bounded.add(text)
    return str(bounded)
