"""Background processes of all sessions: limits, lookup and end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.core.clock import Clock
from app.core.errors import ToolFailed
from app.core.redaction import Redactor
from app.domain.processes import ProcessRequest, SessionProcess
from app.execution.background.log import OutputLog
from app.execution.background.process import OwnedProcess, process_not_found, service_stops
from app.operations.protocols.processes import ProcessOperations


@dataclass(frozen=True, slots=True)
class ProcessBounds:
    """Limits of background processes.

    Attributes:
        running_per_session, running: maximum concurrent background processes.
        ended_per_session, ended: maximum ended processes whose output stays readable.
        ended_s: seconds until an ended process is discarded.
        background_s: maximum seconds in the background.
        timeout_s: maximum seconds a call waits for its command.
        usual_timeout_s: seconds a call waits by default.
    """

    running_per_session: int = 16
    running: int = 64
    ended_per_session: int = 16
    ended: int = 128
    ended_s: float = 3600
    background_s: float = 8 * 3600
    timeout_s: float = 600
    usual_timeout_s: float = 30


Kept = Callable[[OwnedProcess], None]


def _nobody(_: OwnedProcess) -> None:
    return None


class Processes:
    """`SessionProcesses` of the service. Built once, in the composition root; `close` ends all
    processes.

    Args:
        folder: folder for output that exceeds memory.
        on_kept: called with each process that starts to outlive its call.
        on_ended: called when such a process has ended.
    """

    def __init__(
        self,
        folder: Path,
        redactor: Redactor,
        clock: Clock,
        bounds: ProcessBounds | None = None,
        *,
        on_kept: Kept = _nobody,
        on_ended: Kept = _nobody,
    ) -> None:
        self._folder = folder
        self._redactor = redactor
        self._clock = clock
        self._bounds = bounds = bounds or ProcessBounds()
        self.timeout_s = bounds.usual_timeout_s
        self.max_timeout_s = bounds.timeout_s
        self.max_background_s = bounds.background_s
        self._on_kept = on_kept
        self._on_ended = on_ended
        self._owned: set[OwnedProcess] = set()
        self._kept: dict[str, OwnedProcess] = {}
        self._announced: set[str] = set()
        self._is_closed = False

    @asynccontextmanager
    async def foreground(
        self, request: ProcessRequest, processes: ProcessOperations
    ) -> AsyncIterator[SessionProcess]:
        process = self._made(request)
        try:
            await process.start(processes)
            yield process
        finally:
            if process.id not in self._kept:
                try:
                    await process.kill()
                finally:
                    process.close()

    async def background(
        self, request: ProcessRequest, processes: ProcessOperations
    ) -> SessionProcess:
        self._make_room(request.session_id)
        process = self._made(request)
        process.unfollow()
        # Counted before the start, so that concurrent starts respect the limit.
        self._kept[process.id] = process
        try:
            await process.start(processes)
        except BaseException:
            self._forget(process)
            raise
        self._announce(process)
        return process

    def keep(self, process: SessionProcess) -> None:
        assert isinstance(process, OwnedProcess)
        if process.exit is None:
            self._make_room(process.request.session_id)
        self._kept[process.id] = process
        process.unfollow()
        if process.exit is None:
            self._announce(process)
        self._forget_old()

    def find(
        self, session_id: str, process_id: str, subagent_id: str | None = None
    ) -> SessionProcess:
        self._forget_old()
        process = self._kept.get(process_id)
        if process is None or not _is_of(process, session_id, subagent_id):
            raise process_not_found(process_id)
        return process

    def of(self, session_id: str, subagent_id: str | None = None) -> Sequence[SessionProcess]:
        self._forget_old()
        return [p for p in self._kept.values() if _is_of(p, session_id, subagent_id)]

    def works_in(self, project_id: str) -> bool:
        """Return whether a background process runs in the project."""
        return any(
            process.request.project_id == project_id and process.exit is None
            for process in self._kept.values()
        )

    async def end_session(self, session_id: str) -> None:
        """End and remove every process of a session."""
        ended = [p for p in self._owned | {*self._kept.values()} if _is_of(p, session_id)]
        await asyncio.gather(*(process.kill() for process in ended))
        for process in ended:
            self._forget(process)

    async def close(self) -> None:
        """End all processes; later starts are refused."""
        self._is_closed = True
        await asyncio.gather(*(process.kill() for process in tuple(self._owned)))
        for process in tuple(self._kept.values()):
            self._forget(process)

    def _made(self, request: ProcessRequest) -> OwnedProcess:
        if self._is_closed:
            raise service_stops()
        process = OwnedProcess(
            request,
            output=OutputLog(self._folder),
            redactor=self._redactor,
            clock=self._clock,
            on_end=self._ended,
        )
        self._owned.add(process)
        return process

    def _announce(self, process: OwnedProcess) -> None:
        self._announced.add(process.id)
        self._on_kept(process)
        if process.exit is not None:
            self._tell_end(process)

    def _ended(self, process: OwnedProcess) -> None:
        self._owned.discard(process)
        if process.id in self._announced:
            self._tell_end(process)

    def _tell_end(self, process: OwnedProcess) -> None:
        self._announced.discard(process.id)
        self._on_ended(process)

    def _make_room(self, session_id: str) -> None:
        running = [process for process in self._kept.values() if process.exit is None]
        own = sum(_is_of(process, session_id) for process in running)
        bounds = self._bounds
        if own >= bounds.running_per_session:
            raise _too_many(f"This session has reached its maximum of {own} background processes")
        if len(running) >= bounds.running:
            raise _too_many(
                f"The service has reached its maximum of {len(running)} background processes"
            )

    def _forget_old(self) -> None:
        """Enforce the limits on ended processes, per session and in total; the oldest are removed
        first.
        """
        bounds = self._bounds
        ended = [process for process in self._kept.values() if process.exit is not None]
        ended.sort(key=lambda process: process.ended_at or 0.0, reverse=True)
        limit = self._clock.monotonic() - bounds.ended_s
        counts: dict[str, int] = {}
        for at, process in enumerate(ended):
            session_id = process.request.session_id
            counts[session_id] = counts.get(session_id, 0) + 1
            is_old = (process.ended_at or 0.0) < limit
            if is_old or at >= bounds.ended or counts[session_id] > bounds.ended_per_session:
                self._forget(process)

    def _forget(self, process: OwnedProcess) -> None:
        self._kept.pop(process.id, None)
        process.close()


def _is_of(process: OwnedProcess, session_id: str, subagent_id: str | None = None) -> bool:
    """Return whether the process belongs to the session, or to one of the agent's sub-agents."""
    request = process.request
    return request.session_id == session_id and subagent_id in (None, request.subagent_id)


def _too_many(sentence: str) -> ToolFailed:
    return ToolFailed(f"{sentence}; stop one with `process` action kill", code="too_many_processes")
