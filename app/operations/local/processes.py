"""Starting, reading and ending process trees of one workspace."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from app.operations.local.beneath import Beneath
from app.operations.local.pipes import InputPipe, OutputPipes
from app.operations.local.spawn import GATE_LINE, Started, start
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.protocols import ProcessChunk, ProcessExit, ProcessSpec, RunningProcess

_log = logging.getLogger(__name__)

TERM_GRACE_S = 0.5
_DRAIN_GRACE_S = 0.2  # for a pipe that somebody holds open after the program has ended
_KILL_LIMIT_S = 10.0
_REAP_LIMIT_S = 5.0
_FIRST_POLL_S = 0.002
_LAST_POLL_S = 0.05


class LocalProcesses:
    """`ProcessOperations` on a `Beneath`.

    Attributes:
        private_tmp: HOME and TMPDIR of what is started; without it HOME is the workspace.
        term_grace_s: seconds between asking a tree to end and ending it.
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
                running = _LocalProcess(starting.result(), b"", self._term_grace_s)
                await running.close()
            raise
        return _LocalProcess(started, GATE_LINE + (spec.stdin or b""), self._term_grace_s)


class _LocalProcess:
    """`RunningProcess` over a `Started`. Its leader stays a zombie until the tree is gone."""

    def __init__(self, started: Started, stdin: bytes, term_grace_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = started.process
        self._tree = started.tree
        self._term_grace_s = term_grace_s
        self._input = InputPipe(started.stdin, stdin)
        self._pipes = OutputPipes({"stdout": started.stdout, "stderr": started.stderr})
        self._claimed = False
        self._waiting = 0
        self._killing = asyncio.Lock()
        self._exit: asyncio.Future[ProcessExit] = self._loop.create_future()
        self._pidfd = os.pidfd_open(started.process.pid)
        self._loop.add_reader(self._pidfd, self._ended)

    @property
    def pid(self) -> int:
        return self._process.pid

    def output(self) -> AsyncIterator[ProcessChunk]:
        """As the Protocol says; when a child keeps a pipe open, it ends shortly after the
        process itself did."""
        self._claimed = True
        return self._chunks()

    async def wait(self) -> ProcessExit:
        if not self._claimed:
            self._pipes.discard()
        self._waiting += 1
        try:
            return await asyncio.shield(self._exit)
        finally:
            self._waiting -= 1

    async def kill(self) -> None:
        await to_end(self._kill())

    async def close(self) -> None:
        """Kill, and give up what was not read."""
        try:
            await self.kill()
        finally:
            self._pipes.close()

    async def _chunks(self) -> AsyncIterator[ProcessChunk]:
        try:
            while (chunk := await self._pipes.next()) is not None:
                yield chunk
        finally:
            self._claimed = False
            if self._waiting:
                self._pipes.discard()

    def _ended(self) -> None:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        info = os.waitid(os.P_PIDFD, self._pidfd, flags)
        if info is None:
            return
        self._loop.remove_reader(self._pidfd)
        status = info.si_status
        by_itself = info.si_code == os.CLD_EXITED
        self._exit.set_result(
            ProcessExit(status) if by_itself else ProcessExit(128 + status, status)
        )
        self._input.close()
        self._pipes.finish()
        if not self._pipes.at_end:
            self._loop.call_later(_DRAIN_GRACE_S, self._pipes.cut)

    async def _kill(self) -> None:
        async with self._killing:
            if self._pidfd < 0:
                return
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
        # again until a scan finds nobody: a member may fork between scan and signal
        while left := await run_in(PROCESSES, self._tree.signal, signal.SIGKILL):
            if self._loop.time() >= deadline:
                _log.error("process tree of %s not ended, left: %s", self.pid, left)
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_POLL_S)

    async def _reap(self) -> None:
        await asyncio.wait({self._exit}, timeout=_REAP_LIMIT_S)
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        self._process.poll()
