"""Timeline of a session's tools, rebuilt from stored reports."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from app.agents.session_queries import SessionQueries
from app.core.errors import NotFound
from app.db.tables import ToolCallRow
from app.execution.operation_logs import OperationLogs

Source = Literal["complete", "sampled"]
Report = Mapping[str, Any]

MAX_STAGES = 500
"""Maximum number of stages shown for one call; the others are only counted."""

_KIND = "process_event"
_WINDOW = 2000
_MAX_SCANNED = 100_000
_ENDED = ("completed", "failed")
_UNKNOWN = "interrupted"


@dataclass(slots=True)
class Stage:
    """Named stage of one call; times as ISO 8601 text.

    Attributes:
        status: `running`, `completed`, `failed`, or `interrupted` without a reported end.
        message, percent, current, total, unit: last reported values.
        reports: number of known reports.
    """

    stage: str
    started_at: str
    status: str = "running"
    ended_at: str | None = None
    message: str | None = None
    percent: float | None = None
    current: float | None = None
    total: float | None = None
    unit: str | None = None
    reports: int = 0

    def take(self, report: Report) -> None:
        """Apply a report of this stage."""
        self.reports += 1
        self.message = report.get("message", self.message)
        for name, value in (report.get("progress") or {}).items():
            if name in ("percent", "current", "total", "unit"):
                setattr(self, name, value)

    def end(self, moment: str | None, status: str) -> None:
        """End the stage, at the given time if known."""
        self.ended_at, self.status = moment, status


@dataclass(slots=True)
class OperationTimeline:
    """Call that reported progress.

    Attributes:
        run_id: run of the call, possibly a sub-agent's.
        parent_tool_call_id: delegating call, if any.
        status: as in the call's record; `running` while it is active.
        source: all reports, or the samples of the session's log.
        left_out: number of stages beyond `MAX_STAGES`.
    """

    operation_id: str
    tool_call_id: str | None = None
    tool_name: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    parent_tool_call_id: str | None = None
    status: str = "running"
    started_at: str | None = None
    ended_at: str | None = None
    execution_time: float | None = None
    source: Source = "sampled"
    stages: list[Stage] = field(default_factory=list)
    left_out: int = 0

    def take(self, report: Report) -> None:
        """Apply the next report or sample of this call."""
        moment = str(report["ts"])
        if self.started_at is None:
            self.started_at = moment
            for name in ("tool_call_id", "run_id", "agent_id", "parent_tool_call_id"):
                setattr(self, name, report.get(name))
        status = report.get("status")
        if status in _ENDED:
            self.end(moment, str(status))
            return
        last = self.stages[-1] if self.stages else None
        if last is None or last.stage != report["stage"]:
            if last is not None and last.ended_at is None:
                last.end(moment, "completed")
            if len(self.stages) == MAX_STAGES:
                self.left_out += 1
                return
            last = Stage(str(report["stage"]), moment)
            self.stages.append(last)
        last.take(report)

    def settle(self, row: ToolCallRow | None, *, is_running: bool) -> None:
        """Add the data of the call's record; without an end, the last stage has none either."""
        if row is not None:
            self.tool_name = row.tool_name
            self.execution_time = row.execution_time or None
        if is_running:
            return
        stored = row.status if row is not None and row.status != "running" else None
        if self.ended_at is None:
            self.status = stored or _UNKNOWN
            if self.stages and self.stages[-1].status == "running":
                is_done = self.status == "success"
                self.stages[-1].end(None, "completed" if is_done else _UNKNOWN)
        else:
            self.status = stored or ("success" if self.status == "completed" else "error")

    def end(self, moment: str, status: str) -> None:
        """End the call as `completed` or `failed`."""
        self.ended_at, self.status = moment, status
        if self.stages and self.stages[-1].ended_at is None:
            self.stages[-1].end(moment, status)


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Calls in order of their first report; `next_after` is None on the last page."""

    operations: list[OperationTimeline]
    next_after: int | None


class Timelines:
    """Reader of the events and complete logs of sessions."""

    def __init__(self, archive: SessionQueries, logs: OperationLogs) -> None:
        self._archive = archive
        self._logs = logs

    async def of_session(
        self, session_id: str, epoch: str, *, after: int, limit: int, running: Collection[str]
    ) -> TimelinePage:
        """Return the calls whose first sample has `after < seq`, at most `limit`.

        Args:
            running: IDs of the active calls.
        """
        found: dict[str, OperationTimeline] = {}
        next_after: int | None = None
        scanned, seq = 0, after
        while scanned < _MAX_SCANNED:
            rows = await self._archive.events_of_kind(
                session_id, epoch, _KIND, after=seq, limit=_WINDOW
            )
            for seq, body in rows:
                if body is None:
                    continue
                event = orjson.loads(body)
                known = found.get(event["operation_id"])
                if known is None and event["op_seq"] == 1 and next_after is None:
                    if len(found) == limit:
                        next_after = seq - 1
                        continue
                    known = found[event["operation_id"]] = OperationTimeline(event["operation_id"])
                if known is not None:
                    known.take(event)
            scanned += len(rows)
            done = all(call.ended_at for call in found.values())
            if len(rows) < _WINDOW or (next_after is not None and done):
                break
        else:
            next_after = seq if next_after is None else next_after
        await self._settle(session_id, found.values(), running)
        return TimelinePage(list(found.values()), next_after)

    async def of_operation(
        self, session_id: str, epoch: str, operation_id: str, *, running: Collection[str]
    ) -> OperationTimeline:
        """Return one call, from its complete log if that still exists.

        Raises:
            NotFound: it is not in this session, or reported nothing.
        """
        call = OperationTimeline(operation_id)
        await self._sampled(session_id, epoch, call)
        if call.stages or await self._archive.calls_of(session_id, [operation_id]):
            call = await self._completed(call)
        if not call.stages:
            raise NotFound(
                f"No progress reports of {operation_id!r}: it made none, or they were deleted",
                operation_id=operation_id,
            )
        await self._settle(session_id, [call], running)
        return call

    async def owns(self, session_id: str, epoch: str, operation_id: str) -> bool:
        """Return whether the call belongs to the session, even without a record after a crash."""
        if await self._archive.calls_of(session_id, [operation_id]):
            return True
        call = OperationTimeline(operation_id)
        await self._sampled(session_id, epoch, call)
        return bool(call.stages)

    async def _completed(self, sampled: OperationTimeline) -> OperationTimeline:
        """Return the call with all stored reports; its end comes from the samples."""
        call = OperationTimeline(sampled.operation_id, source="complete")
        try:
            await asyncio.to_thread(_replay, call, await self._logs.read(call.operation_id))
        except NotFound:
            return sampled
        if not call.stages:
            return sampled
        if sampled.ended_at is not None:
            call.end(sampled.ended_at, sampled.status)
        return call

    async def _sampled(self, session_id: str, epoch: str, call: OperationTimeline) -> None:
        scanned, seq = 0, 0
        while scanned < _MAX_SCANNED and call.ended_at is None:
            rows = await self._archive.events_of_kind(
                session_id, epoch, _KIND, after=seq, limit=_WINDOW
            )
            for seq, body in rows:  # noqa: B007 - the window goes on behind the last one
                if body is not None and call.operation_id.encode() in body:
                    event = orjson.loads(body)
                    if event["operation_id"] == call.operation_id:
                        call.take(event)
            scanned += len(rows)
            if len(rows) < _WINDOW:
                return

    async def _settle(
        self, session_id: str, calls: Collection[OperationTimeline], running: Collection[str]
    ) -> None:
        rows = await self._archive.calls_of(session_id, [call.operation_id for call in calls])
        known = {row.operation_id: row for row in rows}
        for call in calls:
            is_running = call.ended_at is None and call.tool_call_id in running
            call.settle(known.get(call.operation_id), is_running=is_running)


def _replay(call: OperationTimeline, data: bytes) -> None:
    """Apply a complete log; a line truncated by a crash is skipped."""
    for report in _reports(data.splitlines()):
        call.take(report)


def _reports(lines: Iterable[bytes]) -> Iterable[Report]:
    for line in lines:
        try:
            report = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(report, dict) and "stage" in report and "ts" in report:
            yield report
