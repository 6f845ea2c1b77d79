"""Process tree under a supervisor, as seen by the service."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from app.operations.egress.egress import EgressNetwork
from app.operations.local.piped_process import TERM_GRACE_S, PipedProcess
from app.operations.local.threads import to_end
from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.processes import ExitReason, ProcessExit, ProcessSpec
from app.operations.protocols.sandbox import Level, SandboxReport
from app.operations.sandbox.change_watch import ChangeWatch
from app.operations.sandbox.jail.job import ENDED, GO, STARTED, TERMINATE, Job
from app.operations.sandbox.pipes import JobPipes
from app.operations.sandbox.zygote import Zygote

_log = logging.getLogger(__name__)

# For hangs: on an extremely busy machine both have taken half a minute, and a cancelled tree still
# runs.
_START_LIMIT_S = 90.0
_END_LIMIT_S = 60.0

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


class SandboxedProcess(PipedProcess):
    """`RunningProcess` over the pipes of a job; owns our ends.

    The supervisor ends the tree when the leash closes, even if the service has died, and has itself
    ended when its status pipe closes.
    """

    def __init__(self, pipes: JobPipes, spec: ProcessSpec, level: Level) -> None:
        super().__init__(pipes.ours, spec)
        self._level: Level = level
        self.watch: ChangeWatch | None = None
        self.network: EgressNetwork | None = None
        self.written_bytes = 0
        self._leash = pipes.leash
        self._killing = asyncio.Lock()
        self._started: asyncio.Future[Event] = self._loop.create_future()
        self._gone = asyncio.Event()
        self._status = StatusLines(pipes.status, self._on_event, self._on_gone)

    @property
    def pid(self) -> int:
        """Return 0 before `started`."""
        return int(self._start_event().get("pid") or 0)

    @property
    def sandbox(self) -> SandboxReport:
        """Return the sandbox, without layers before `started`."""
        return report_of(self._level, self._start_event())

    async def wait(self) -> ProcessExit:
        """Return its exit, with the restored files that others run."""
        ended = await super().wait()
        if self.network is not None:
            ended = replace(ended, connections=await self.network.finished())
        if self.watch is None:
            return ended
        changes = await self.watch.settle()
        return replace(
            ended,
            undone=changes.undone,
            left=changes.left,
            reported=changes.reported,
            put_aside=changes.put_aside,
        )

    def has_ended(self) -> bool:
        """Return whether it has ended, even if the loop has not been notified yet."""
        self._status.catch_up()
        return self._exit.done()

    async def started(self) -> None:
        """Wait until it is confined and runs, or if parked, waits for its work.

        Raises:
            ToolFailed: code `sandbox_unavailable`.
        """
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await asyncio.shield(self._started)
        except TimeoutError:
            raise sandbox_unavailable(
                f"The sandbox did not start the program within {_START_LIMIT_S:g} s"
            ) from None

    def go(self) -> None:
        """Start the clock of a parked job."""
        self._pull(GO)

    async def kill(self) -> None:
        if not self._exit.done():
            self._reason = self._reason or "killed"
        await to_end(self._end())

    async def _end(self) -> None:
        async with self._killing:
            self._input.close()
            if not self._exit.done() and self._start_event():
                self._pull(TERMINATE)
                await asyncio.wait({self._exit}, timeout=TERM_GRACE_S)
            self._let_go()
            try:
                async with asyncio.timeout(_END_LIMIT_S):
                    await self._gone.wait()
            except TimeoutError:
                _log.error("the supervisor of %s does not end", self.pid)
                self._status.close()

    def _start_event(self) -> Event:
        failed = not self._started.done() or self._started.exception() is not None
        return {} if failed else self._started.result()

    def _on_event(self, event: Event) -> None:
        if event["event"] == STARTED and not self._started.done():
            self._started.set_result(event)
        elif event["event"] == ENDED and not self._exit.done():
            if not self._started.done():
                self._not_started(f"Cannot set up the sandbox: {event.get('error')}")
            self.written_bytes = event.get("written_bytes") or 0
            self._settle(exit_of(event, self._level, self._start_event(), self._reason))

    def _on_gone(self) -> None:
        """Handle the end of the supervisor; without an `ended` event it was killed."""
        self._let_go()
        if not self._started.done():
            self._not_started("The sandbox ended during the start; try again")
        if not self._exit.done():
            report = report_of(self._level, self._start_event())
            lost = ProcessExit(128 + signal.SIGKILL, signal.SIGKILL, "lost", report)
            self._settle(lost)
        self._gone.set()

    def _not_started(self, why: str) -> None:
        self._started.set_exception(sandbox_unavailable(why))
        self._started.exception()  # read, so that it is not reported as never retrieved

    def _pull(self, message: bytes) -> None:
        if self._leash >= 0:
            with suppress(OSError):  # the supervisor has ended
                os.write(self._leash, message)

    def _let_go(self) -> None:
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1


async def launch(
    zygote: Zygote, job: Job, pipes: JobPipes, spec: ProcessSpec, level: Level
) -> SandboxedProcess:
    """Start `job` over `pipes`; on failure both are cleaned up.

    Raises:
        ToolFailed: code `sandbox_unavailable`.
    """
    process = SandboxedProcess(pipes, spec, level)
    try:
        async with zygote.starts:
            await _send(zygote, job, pipes)
            await process.started()
    except BaseException:
        pipes.close_theirs()
        await process.close()
        raise
    return process


async def _send(zygote: Zygote, job: Job, pipes: JobPipes) -> None:
    try:
        await zygote.send(job, pipes.theirs)
    finally:
        pipes.close_theirs()
