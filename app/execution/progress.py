"""Progress of a running call: complete in a file, live on the wire, sampled in the log."""

from __future__ import annotations

import math
from typing import Any

import orjson

from app.core.clock import Clock, stamp
from app.core.text import scrub, truncate
from app.db.statements import KEEP_SAMPLE
from app.db.writer import DatabaseWriter
from app.events.durable import ProcessEvent
from app.events.log import SessionLog
from app.execution.operation_logs import OperationLogs
from app.toolkit.context import Progress

SAMPLE_S = 1.0
MAX_STAGES = 200
"""Changes of stage per call that are recorded immediately; further ones only once a second."""

_SAMPLE_CHARS = 200
_SAMPLED = (
    "operation_id",
    "tool_call_id",
    "parent_tool_call_id",
    "run_id",
    "agent_id",
    "op_seq",
)


class ProgressReporter:
    """Reporter of one call. `op_seq` increases by one with each report.

    Args:
        head: IDs in every report.
        tool_name: name of the tool in the session's metadata.
    """

    def __init__(
        self,
        log: SessionLog,
        head: dict[str, Any],
        tool_name: str,
        *,
        logs: OperationLogs,
        db: DatabaseWriter,
        clock: Clock,
    ) -> None:
        self._log = log
        self._head = head
        self._tool_name = tool_name
        self._operation_id: str = head["operation_id"]
        self._logs = logs
        self._db = db
        self._clock = clock
        self._op_seq = 0
        self._stage: str | None = None
        self._stages = 0
        self._sampled_at = float("-inf")
        self._written = 0
        self._last: dict[str, Any] = {}

    async def report(self, progress: Progress) -> None:
        """Record one report; a stage change, or one per second, is also logged."""
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
        started = progress.stage != self._stage
        is_due = now - self._sampled_at >= SAMPLE_S
        if is_due or (started and self._stages < MAX_STAGES):
            self._stages += started
            self._stage, self._sampled_at = progress.stage, now
            self._sample(fields, "started" if started else "progress")
        self._last = fields
        await self._keep(fields)

    def finish(self, *, failed: bool) -> None:
        """Record the last sample, if there was any report."""
        if self._stage is not None:
            self._op_seq += 1
            fields = {**self._head, "op_seq": self._op_seq, "stage": self._last["stage"]}
            status = "failed" if failed else "completed"
            self._emit(fields, status)
            self._keep_sample({**self._last, **fields}, status)

    def _sample(self, fields: dict[str, Any], status: str) -> None:
        self._emit(fields, status)
        self._keep_sample(fields, status)

    def _emit(self, fields: dict[str, Any], status: str) -> None:
        name = self._logs.name(self._operation_id)
        self._log.emit(ProcessEvent, **fields, status=status, log_ref=name)

    def _keep_sample(self, fields: dict[str, Any], status: str) -> None:
        """Store the progress of the call in its session's metadata."""
        sample = {name: fields[name] for name in _SAMPLED if name in fields}
        sample |= {
            "tool_name": self._tool_name,
            "stage": truncate(fields["stage"], _SAMPLE_CHARS),
            "status": status,
            "message": truncate(fields.get("message", ""), _SAMPLE_CHARS) or None,
            "percent": fields.get("progress", {}).get("percent"),
            "ts": stamp(self._clock.time()),
        }
        row = (orjson.dumps(sample).decode(), self._log.session_id)
        self._db.append(KEEP_SAMPLE, row)

    async def _keep(self, fields: dict[str, Any]) -> None:
        """Append to the file until the call's limit; the last line states it."""
        if self._written > self._logs.max_bytes:
            return
        line = orjson.dumps({"ts": stamp(self._clock.time()), **fields}) + b"\n"
        begins = self._written == 0
        self._written += len(line)
        if self._written > self._logs.max_bytes:
            line = orjson.dumps({"ts": stamp(self._clock.time()), "truncated": True}) + b"\n"
        if not await self._logs.append(self._operation_id, line, begins=begins):
            self._written = self._logs.max_bytes + 1


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
