"""Status lines of a supervisor about its job."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, cast

from app.operations.protocols.processes import ExitReason, ProcessExit
from app.operations.protocols.sandbox import Level, SandboxReport

_READ = 16 << 10
_MAX_LINE = 64 << 10
_REASONS = frozenset(
    ("exited", "timeout", "memory", "disk", "disk_full", "files", "processes", "output")
)
Event = dict[str, Any]


class StatusLines:
    """Reader of one status pipe; owns the descriptor.

    Args:
        on_event: called with each event.
        on_end: called once, when the supervisor's end has closed the pipe.
    """

    def __init__(
        self, descriptor: int, on_event: Callable[[Event], None], on_end: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._on_event = on_event
        self._on_end = on_end
        self._buffer = b""
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._readable)

    def catch_up(self) -> None:
        """Read immediately what the loop would read at its next turn."""
        if self._descriptor >= 0:
            self._readable()

    def close(self) -> None:
        """Stop reading; may be called repeatedly."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            self._on_end()

    def _readable(self) -> None:
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if (event := _event(line)) is not None:
                self._on_event(event)
        if not data or len(self._buffer) > _MAX_LINE:
            self.close()


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def report_of(level: Level, started: Event, kill: str | None = None) -> SandboxReport:
    """Return the sandbox of the run, from its `started` event."""
    layers = tuple(str(layer) for layer in started.get("layers") or ())
    missing = tuple(str(layer) for layer in started.get("missing") or ())
    return SandboxReport(level, layers, missing, kill)


def exit_of(ended: Event, level: Level, started: Event, reason: ExitReason | None) -> ProcessExit:
    """Return its exit; `reason` is why the service ended it, if it did.

    A limit reported by the supervisor takes precedence, because it came first.
    """
    said = ended.get("reason")
    if said not in _REASONS or (said == "exited" and reason is not None):
        said = reason or "killed"
    number = ended.get("signal")
    code = 128 + number if number else ended.get("code")
    return ProcessExit(
        code=137 if code is None else code,
        signal=number or None,
        reason=cast("ExitReason", said),
        sandbox=report_of(level, started, ended.get("kill")),
        peak_bytes=ended.get("peak_bytes"),
        orphans=ended.get("orphans") or 0,
        sought_network=bool(ended.get("sought_network")),
    )
