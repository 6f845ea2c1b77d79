"""Notification of a session that a background process has ended."""

from __future__ import annotations

from pathlib import Path

from app.config.settings import Settings
from app.core.clock import Clock
from app.core.redaction import Redactor
from app.core.text import clean, truncate
from app.events.durable import ProcessEnded
from app.events.log import EventLog
from app.execution.background.process import OwnedProcess
from app.execution.background.processes import ProcessBounds, Processes

_MAX_COMMAND = 500


class Notices:
    """Keeps a session's log open while a process runs for it, and records the end there."""

    def __init__(self, events: EventLog, redactor: Redactor) -> None:
        self._events = events
        self._redactor = redactor

    def kept(self, process: OwnedProcess) -> None:
        """Register a process that now outlives its call."""
        log = self._events.get(process.request.session_id)
        if log is not None:
            log.holders.add(process.id)

    def ended(self, process: OwnedProcess) -> None:
        """Record the end of a process."""
        log, ended = self._events.get(process.request.session_id), process.exit
        if log is None or ended is None:
            return
        log.emit(
            ProcessEnded,
            process_id=process.id,
            started_by=process.request.operation_id,
            command=self._redactor.text(truncate(clean(process.request.command), _MAX_COMMAND)),
            exit_code=ended.code,
            reason=ended.reason,
            seconds=round(process.age_s, 3),
        )
        log.holders.discard(process.id)


def processes_of(
    settings: Settings, events: EventLog, redactor: Redactor, clock: Clock
) -> Processes:
    """Create the process manager of this service, which announces processes to their sessions."""
    notices = Notices(events, redactor)
    folder: Path = settings.data_dir / "processes"
    sandbox = settings.sandbox
    bounds = ProcessBounds(
        timeout_s=sandbox.command_timeout_max_s, usual_timeout_s=sandbox.command_timeout_s
    )
    return Processes(folder, redactor, clock, bounds, on_kept=notices.kept, on_ended=notices.ended)
