"""Protocol of a skill's program on its standard output: one JSON object per line.

`{"event": "progress", "stage": …, "percent": …, "message": …}` any number of times, and finally
once `{"event": "result", "data": …, "artifacts": […]}`. Any other line is ordinary output. The
program may be faulty or hostile: lines are bounded, progress is counted, and a second result
invalidates the first, because either may be forged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import orjson

from app.core.text import scrub
from app.toolkit.context import Progress

MAX_LINE = 1 << 20
MAX_PROGRESS = 1000
MAX_STAGE, MAX_MESSAGE = 100, 500
MAX_ARTIFACTS, MAX_PATH = 20, 500


@dataclass(frozen=True, slots=True)
class SkillResult:
    """Result event."""

    data: Any
    artifacts: tuple[str, ...]


class EventReader:
    """Incremental parser of standard output.

    Attributes:
        result: result event, once received.
        problem: why the output is unusable, or None.
        reports: number of passed progress events; `left_out` of dropped ones.
    """

    def __init__(self) -> None:
        self.result: SkillResult | None = None
        self.problem: str | None = None
        self.reports = 0
        self.left_out = 0
        self._line = b""
        self._is_plain = False

    def feed(self, data: bytes) -> list[Progress | bytes]:
        """Return the parsed progress events, and the other bytes, in order."""
        items: list[Progress | bytes] = []
        *whole, rest = data.split(b"\n")
        for piece in whole:
            items.extend(self._ended(piece))
        items.extend(self._begun(rest))
        return items

    def finish(self) -> list[Progress | bytes]:
        """Return the content of an unterminated last line."""
        line, self._line = self._line, b""
        return self._event(line) if line else []

    def _ended(self, piece: bytes) -> list[Progress | bytes]:
        if self._is_plain:
            self._is_plain = False
            return [piece + b"\n"]
        line, self._line = self._line + piece, b""
        if len(line) > MAX_LINE:
            return self._too_long(line + b"\n")
        return self._event(line, b"\n")

    def _begun(self, piece: bytes) -> list[Progress | bytes]:
        """Handle the start of a line: anything that cannot become an event is passed on
        immediately.
        """
        if not piece:
            return []
        if self._is_plain:
            return [piece]
        self._line += piece
        if len(self._line) > MAX_LINE:
            line, self._line, self._is_plain = self._line, b"", True
            return self._too_long(line)
        if not self._line.lstrip().startswith(b"{") and self._line.strip():
            line, self._line, self._is_plain = self._line, b"", True
            return [line]
        return []

    def _too_long(self, line: bytes) -> list[Progress | bytes]:
        if line.lstrip().startswith(b"{"):
            self._spoil(f"an event exceeds {MAX_LINE} bytes; write large data to a file")
        return [line]

    def _event(self, line: bytes, end: bytes = b"") -> list[Progress | bytes]:
        event = _object(line)
        kind = None if event is None else event.get("event")
        if event is None or kind not in ("progress", "result"):
            return [line + end]
        if kind == "result":
            self._take(event)
            return []
        progress = _progress(event)
        if progress is None:
            return [line + end]
        if self.result is not None or self.reports >= MAX_PROGRESS:
            self.left_out += 1
            return []
        self.reports += 1
        return [progress]

    def _take(self, event: dict[str, Any]) -> None:
        artifacts = event.get("artifacts", [])
        if self.result is not None:
            self._spoil("there was more than one result")
        elif not isinstance(artifacts, list) or not all(map(_is_path, artifacts)):
            self._spoil("artifacts must be a list of paths")
        elif len(artifacts) > MAX_ARTIFACTS:
            self._spoil(f"there are more than {MAX_ARTIFACTS} artifacts")
        else:
            self.result = SkillResult(event.get("data"), tuple(dict.fromkeys(artifacts)))

    def _spoil(self, why: str) -> None:
        self.problem = self.problem or why


def _object(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _progress(event: dict[str, Any]) -> Progress | None:
    """Return progress, or None without a stage."""
    stage, message, percent = event.get("stage"), event.get("message"), event.get("percent")
    if not isinstance(stage, str) or not stage.strip():
        return None
    if isinstance(percent, bool) or not isinstance(percent, int | float):
        percent = None
    if percent is not None and not math.isfinite(percent):
        percent = None
    said = _line(message, MAX_MESSAGE) if isinstance(message, str) else None
    if percent is None:
        return Progress(_line(stage, MAX_STAGE), said)
    return Progress(_line(stage, MAX_STAGE), said, min(100.0, max(0.0, float(percent))), 100.0, "%")


def _line(text: str, limit: int) -> str:
    described = "".join(letter if letter.isprintable() else " " for letter in str(scrub(text)))
    return described.strip()[:limit]


def _is_path(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_PATH and value.isprintable()
