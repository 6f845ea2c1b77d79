"""Process trees of one workspace."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from app.operations.local.beneath import Beneath
from app.operations.local.piped_process import TERM_GRACE_S, PipedProcess
from app.operations.local.spawn import Started, start
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.protocols.processes import ProcessExit, ProcessSpec, RunningProcess
from app.operations.protocols.sandbox import SandboxReport

_log = logging.getLogger(__name__)

_KILL_LIMIT_S = 10.0
_REAP_LIMIT_S = 5.0
_FIRST_POLL_S = 0.002
_LAST_POLL_S = 0.05


class LocalProcesses:
    """`ProcessOperations` on a `Beneath`.

    Attributes:
        private_tmp: HOME and TMPDIR of started programs; without it HOME is the workspace.
        term_grace_s: seconds between SIGTERM and SIGKILL.
    """

    def __init__(
        self,
        beneath: Beneath,
        *,
        private_tmp: str | None = None,
        term_grace_s: float = TERM_GRACE_S,
    ) -> None:
        self._beneath = beneath
        self._private_tmp = private_tmp
        self._term_grace_s = term_grace_s

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: ProcessSpec) -> AsyncIterator[RunningProcess]:
        running = await self._start(spec)
        try:
            yield running
        finally:
            await running.close()

    async def _start(self, spec: ProcessSpec) -> _LocalProcess:
        starting = asyncio.ensure_future(
            run_in(PROCESSES, start, self._beneath, spec, self._private_tmp)
        )
        try:
            started = await to_end(starting)
        except asyncio.CancelledError:
            if not starting.cancelled() and starting.exception() is None:
                started = starting.result()
                started.give_up()
                silent = replace(spec, stdin=None, interactive=False)
                await _LocalProcess(started, silent, self._term_grace_s).close()
            raise
        started.let_go()
        return _LocalProcess(started, spec, self._term_grace_s)


class _LocalProcess(PipedProcess):
    """`RunningProcess` over a `Started`. Its leader stays a zombie until the tree has ended."""

    def __init__(self, started: Started, spec: ProcessSpec, term_grace_s: float) -> None:
        super().__init__(started.pipes, spec)
        self._process = started.process
        self._tree = started.tree
        self._term_grace_s = term_grace_s
        self._killing = asyncio.Lock()
        self._pidfd = os.pidfd_open(started.process.pid)
        self._loop.add_reader(self._pidfd, self._note_end)
        self._clock = self._start_clock(spec.limits.wall_s)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def sandbox(self) -> SandboxReport:
        return SandboxReport("none")

    async def kill(self) -> None:
        self._note_end()
        self._reason = self._reason or "killed"
        await to_end(self._kill())

    def _start_clock(self, wall_s: float | None) -> asyncio.TimerHandle | None:
        if wall_s is None:
            return None
        return self._loop.call_later(wall_s, self._over_limit, "timeout")

    def _note_end(self) -> None:
        if self._exit.done() or self._pidfd < 0:
            return
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        info = os.waitid(os.P_PIDFD, self._pidfd, flags)
        if info is None:
            return
        self._loop.remove_reader(self._pidfd)
        if self._clock is not None:
            self._clock.cancel()
        number = info.si_status
        reason = self._reason or "exited"
        by_itself = info.si_code == os.CLD_EXITED
        self._settle(
            ProcessExit(number, reason=reason)
            if by_itself
            else ProcessExit(128 + number, number, reason)
        )

    async def _kill(self) -> None:
        async with self._killing:
            if self._pidfd < 0:
                return
            if self._clock is not None:
                self._clock.cancel()
            self._input.close()
            members = await run_in(PROCESSES, self._tree.signal, signal.SIGTERM)
            if members and not await self._dies_within(self._term_grace_s):
                await self._kill_hard()
            await self._reap()

    async def _dies_within(self, seconds: float) -> bool:
        deadline = self._loop.time() + seconds
        pause = _FIRST_POLL_S
        while await run_in(PROCESSES, self._tree.alive):
            if self._loop.time() >= deadline:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_POLL_S)
        return True

    async def _kill_hard(self) -> None:
        deadline = self._loop.time() + _KILL_LIMIT_S
        pause = _FIRST_POLL_S
        # repeated until a scan finds none: a member may fork between scan and signal
        while left := await run_in(PROCESSES, self._tree.signal, signal.SIGKILL):
            if self._loop.time() >= deadline:
                _log.error("process tree of %s did not end, remaining: %s", self.pid, left)
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_POLL_S)

    async def _reap(self) -> None:
        await asyncio.wait({self._exit}, timeout=_REAP_LIMIT_S)
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        self._process.poll()
