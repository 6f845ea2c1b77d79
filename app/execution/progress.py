"""Progress of a running call: complete in a file, live on the wire, sampled in the log."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import orjson

from app.core.clock import Clock, stamp
from app.core.text import scrub
from app.events.durable import ProcessEvent
from app.events.log import SessionLog
from app.toolkit.context import Progress

SAMPLE_S = 1.0
MAX_LOG_BYTES = 16 << 20


class ProgressReporter:
    """Takes one call's reports. `op_seq` grows by one with each."""

    def __init__(
        self, log: SessionLog, head: dict[str, Any], operation_id: str, folder: Path, clock: Clock
    ) -> None:
        self._log = log
        self._head = head
        self._path = folder / f"{operation_id}.jsonl"
        self._clock = clock
        self._op_seq = 0
        self._stage: str | None = None
        self._sampled_at = float("-inf")
        self._written = 0

    async def report(self, progress: Progress) -> None:
        """Record one report; a stage change, or one a second, also enters the log."""
        self._op_seq += 1
        figure = _figure(progress)
        fields: dict[str, Any] = {
            **self._head,
            "op_seq": self._op_seq,
            "stage": progress.stage,
        }
        if progress.message is not None:
            fields["message"] = progress.message
        if figure is not None:
            fields["progress"] = figure
        fields = scrub(fields)
        self._log.send("process_progress", fields)
        now = self._clock.monotonic()
        if progress.stage != self._stage or now - self._sampled_at >= SAMPLE_S:
            started = progress.stage != self._stage
            self._stage, self._sampled_at = progress.stage, now
            status = "started" if started else "progress"
            self._log.emit(ProcessEvent, **fields, status=status, log_ref=self._path.name)
        await self._keep(fields)

    def finish(self, *, failed: bool) -> None:
        """The last sample, when there was any report at all."""
        if self._stage is not None:
            self._op_seq += 1
            self._log.emit(
                ProcessEvent,
                **self._head,
                op_seq=self._op_seq,
                stage=self._stage,
                status="failed" if failed else "completed",
                log_ref=self._path.name,
            )

    async def _keep(self, fields: dict[str, Any]) -> None:
        line = orjson.dumps({"ts": stamp(self._clock.time()), **fields}) + b"\n"
        self._written += len(line)
        if self._written <= MAX_LOG_BYTES:
            await asyncio.to_thread(self._append, line)

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(line)


def _figure(progress: Progress) -> dict[str, Any] | None:
    if progress.current is None or not math.isfinite(progress.current):
        return None
    figure: dict[str, Any] = {"current": progress.current}
    if progress.total and math.isfinite(progress.total):
        figure["total"] = progress.total
        figure["percent"] = round(100 * progress.current / progress.total, 2)
    if progress.unit:
        figure["unit"] = progress.unit
    return figure
