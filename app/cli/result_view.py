"""Parts of a structured result that the streamed output does not already show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MAX_VALUE_LINES = 40
_MAX_KEPT = 256 << 10
_COMPARED = 200


class Streamed:
    """Record of a call's live output, used to skip a result that repeats it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._chars = 0

    @property
    def is_empty(self) -> bool:
        return not self._chars

    def add(self, text: str) -> None:
        """Record a printed piece; very long output is compared by its start."""
        if self._chars < _MAX_KEPT:
            self._pieces.append(text)
        self._chars += len(text)

    def beyond(
        self, text: str, raw_result: Mapping[str, Any] | None, *, is_cut: bool = False
    ) -> str:
        """Return the result if it adds to the shown output; otherwise nothing.

        The result of a command is its output plus a few lines, which `beside_output` shows. A
        truncated result says so at its end and is compared by its start.
        """
        if self.is_empty or (raw_result is not None and raw_result["type"] == "terminal"):
            return ""
        shown, wanted = _plain("".join(self._pieces)), _plain(text)
        if wanted in ("", "(no output)") or wanted in shown:
            return ""
        is_cut = is_cut or self._chars > _MAX_KEPT
        return "" if is_cut and wanted[:_COMPARED] in shown else text


def _plain(text: str) -> str:
    """Remove the differences between output for a terminal and for a model."""
    return " ".join(text.split())


def beside_output(raw_result: Mapping[str, Any] | None) -> list[str]:
    """Return a line for the value of code, and one for each stored file or image."""
    data = _fields(raw_result)
    lines: list[str] = []
    if data.get("value") is not None:
        lines = f"Value: {data['value']}".splitlines()
        if len(lines) > _MAX_VALUE_LINES:
            lines[_MAX_VALUE_LINES:] = [f"… {len(lines) - _MAX_VALUE_LINES} more lines"]
    for file in data.get("files") or data.get("images") or ():
        kept = file.get("artifact_id")
        where = f"artifact {kept}" if kept else f"not saved: {file.get('error')}"
        lines.append(f"File: {file.get('name')} ({file.get('media_type')}, {where})")
    return lines


def goes_on(raw_result: Mapping[str, Any] | None) -> bool:
    """Return whether the command now runs in the background."""
    return _fields(raw_result).get("running") is True


def _fields(raw_result: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the data for a terminal or image; a plugin may send any type."""
    if raw_result is None or raw_result["type"] not in ("terminal", "image"):
        return {}
    data = raw_result["data"]
    return data if isinstance(data, Mapping) else {}
