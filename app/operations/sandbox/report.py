"""The report that Python writes about its own end. The payload wrote it: believe nothing."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass

MAX_REPORT_BYTES = 1 << 20
_MAX_VALUE = 100_000
_MAX_ERROR = 2_000
_READ = 64 << 10


@dataclass(frozen=True, slots=True)
class Report:
    """`value` and `error` as `CodeExit` has them."""

    value: str | None = None
    error: str | None = None


class ReportPipe:
    """Reads a report as it comes; takes ownership of the descriptor.

    A report over the bound is none: its pipe is closed on the writer.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._data = bytearray()
        self._over = False
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._readable)

    def finish(self) -> Report:
        """What was reported; call it when nobody writes any more."""
        while self._descriptor >= 0 and self._readable():
            pass
        self.close()
        return Report() if self._over else parse_report(bytes(self._data))

    def close(self) -> None:
        """Stop reading; harmless when repeated."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _readable(self) -> bool:
        """Whether there may be more."""
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return False
        self._over = len(self._data) + len(data) > MAX_REPORT_BYTES
        if self._over or not data:
            self.close()
            return False
        self._data += data
        return True


def parse_report(data: bytes) -> Report:
    """An empty report for whatever is not exactly one."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return Report()
    if not isinstance(raw, dict):
        return Report()
    error = _text(raw.get("error"), _MAX_ERROR)
    return Report(
        value=_text(raw.get("value"), _MAX_VALUE),
        error=None if error is None else " ".join(error.split()),
    )


def _text(value: object, bound: int) -> str | None:
    if not isinstance(value, str):
        return None
    shown = value if len(value) <= bound else f"{value[: bound - 1]}…"
    return shown.encode("utf-8", "replace").decode()
