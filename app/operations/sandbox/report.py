"""Report of Python about its own end, written by the payload and therefore untrusted."""

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
    """`value` and `error` as in `CodeExit`."""

    value: str | None = None
    error: str | None = None


class ReportPipe:
    """Incremental reader of a report; owns the descriptor.

    A report above the limit is discarded, and its pipe closed.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._data = bytearray()
        self._over = False
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._readable)

    def finish(self) -> Report:
        """Return the report; call it once nothing writes any more."""
        while self._descriptor >= 0 and self._readable():
            pass
        self.close()
        return Report() if self._over else parse_report(bytes(self._data))

    def close(self) -> None:
        """Stop reading; may be called repeatedly."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _readable(self) -> bool:
        """Read available data; return whether more may follow."""
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
    """Parse a report; anything invalid gives an empty report."""
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
