"""Client of the zygote, a process without data of the service that forks every run.

It is started fresh with an empty environment and one descriptor, its control socket, so no payload
can find the service's memory, files or secrets in what it inherits. It ends when that socket
closes, even if the service was killed. If it dies, it is restarted with the next job; several
deaths in a row make jobs fail for a while instead of looping.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.core.loop_pacer import LoopPacer
from app.operations.local.failures import failure
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.process_errors import sandbox_unavailable
from app.operations.sandbox.jail.job import MESSAGE, READY, Job, encode
from app.operations.sandbox.jail_programs import inside, inside_environment

_log = logging.getLogger(__name__)

_READY_LIMIT_S = 30.0
_END_LIMIT_S = 5.0
_STARTS_AT_ONCE = 16
_CROWDED_PAUSE_S = 0.01
_CROWDED_TRIES = 500
# seconds without a restart after this many deaths in a row
_PAUSES = (0.0, 0.0, 0.2, 1.0, 5.0)
_LONG_LIFE_S = 10.0
_SHOWN_BYTES = 4000
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


@dataclass(slots=True)
class _Alive:
    """Started zygote."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    errors: int
    since: float
    ready: asyncio.Future[None]
    room: asyncio.Event = field(default_factory=asyncio.Event)

    async def until_writable(self) -> None:
        """Wait until its queue has room, or it has ended."""
        self.room.clear()
        if self.channel.fileno() < 0:
            return
        loop = asyncio.get_running_loop()
        loop.add_writer(self.channel.fileno(), self.room.set)
        try:
            await self.room.wait()
        finally:
            if self.channel.fileno() >= 0:
                loop.remove_writer(self.channel.fileno())


class Zygote:
    """Starter of jobs; must be used on one event loop. Starts the zygote with the first job.

    Attributes:
        starts: limits jobs between sending and start. The kernel counts descriptors in transit per
            user, and refuses more to all processes.
        turns: limits jobs with open descriptors: hundreds may be ready at the same time.
    """

    def __init__(self) -> None:
        self.starts = asyncio.Semaphore(_STARTS_AT_ONCE)
        self.turns = LoopPacer()
        self._alive: _Alive | None = None
        self._sending = asyncio.Lock()
        self._burials: set[asyncio.Task[None]] = set()
        self._deaths = 0
        self._not_before = 0.0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Return the number of the living zygote."""
        return None if self._alive is None else self._alive.process.pid

    async def start(self) -> None:
        """Start the zygote.

        Raises:
            ToolFailed: code `sandbox_unavailable`.
        """
        async with self._sending:
            await self._living()

    async def send(self, job: Job, descriptors: Sequence[int]) -> None:
        """Send a job with its descriptors in wire order; the caller still owns them.

        Raises:
            ToolFailed: code `sandbox_unavailable`.
            StorageUnavailable: descriptors or memory are exhausted.
        """
        try:
            memory = _sealed_file(encode(job))
        except OSError as error:
            raise failure(error, "job") from None
        try:
            async with self._sending:
                for _ in range(2):
                    alive = await self._living()
                    if await self._message(alive, [memory, *descriptors]):
                        return
                    self._bury(alive)
        finally:
            os.close(memory)
        raise sandbox_unavailable("The sandbox ended during the start; try again")

    async def close(self) -> None:
        """End the zygote; active runs lose their supervisor's parent, not their supervisor."""
        self._closed = True
        if self._alive is not None:
            self._bury(self._alive)
        while self._burials:
            await asyncio.wait(set(self._burials))

    async def _living(self) -> _Alive:
        if self._closed:
            raise sandbox_unavailable("The sandbox is closed: the service is stopping")
        if self._alive is None:
            wait = self._not_before - asyncio.get_running_loop().time()
            if wait > 0:
                raise sandbox_unavailable(
                    f"The sandbox crashed {self._deaths} times in a row; it is "
                    f"restarted in {wait:.1f} s"
                )
            self._alive = await self._start()
        return self._alive

    async def _start(self) -> _Alive:
        starting = asyncio.ensure_future(run_in(PROCESSES, _spawn))
        loop = asyncio.get_running_loop()
        try:
            process, channel, errors = await to_end(starting)
        except OSError as error:
            raise sandbox_unavailable(f"Cannot start the sandbox: {error}") from None
        except asyncio.CancelledError:
            if not starting.cancelled() and starting.exception() is None:
                self._bury(_Alive(*starting.result(), loop.time(), loop.create_future()))
            raise
        alive = _Alive(process, channel, errors, loop.time(), loop.create_future())
        loop.add_reader(channel.fileno(), self._readable, alive)
        try:
            async with asyncio.timeout(_READY_LIMIT_S):
                await asyncio.shield(alive.ready)
        except BaseException as error:
            self._bury(alive)
            if isinstance(error, TimeoutError | ConnectionError):
                raise sandbox_unavailable("The sandbox failed to start; see the log") from None
            raise
        return alive

    def _readable(self, alive: _Alive) -> None:
        try:
            message = alive.channel.recv(64)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if message == READY and not alive.ready.done():
            alive.ready.set_result(None)
        elif not message:
            self._bury(alive)

    async def _message(self, alive: _Alive, descriptors: list[int]) -> bool:
        """Send; False if it died before it accepted the job."""
        for _ in range(_CROWDED_TRIES):
            if alive is not self._alive:
                return False
            try:
                socket.send_fds(alive.channel, [MESSAGE], descriptors)
            except BlockingIOError:
                await alive.until_writable()
            except OSError as error:
                if error.errno != errno.ETOOMANYREFS:  # too many descriptors in transit
                    return False
                await asyncio.sleep(_CROWDED_PAUSE_S)
            else:
                return True
        raise sandbox_unavailable("The sandbox accepts no more jobs; try again later")

    def _bury(self, alive: _Alive) -> None:
        """Discard it, and reap it in the background."""
        if self._alive is alive:
            self._alive = None
        if alive.channel.fileno() < 0:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(alive.channel.fileno())
        loop.remove_writer(alive.channel.fileno())
        alive.channel.close()
        alive.room.set()
        if not alive.ready.done():
            alive.ready.set_exception(ConnectionResetError())
            alive.ready.exception()
        if not self._closed:
            self._note_death(loop.time(), alive)
        burial = asyncio.ensure_future(to_end(run_in(PROCESSES, _reap, alive)))
        self._burials.add(burial)
        burial.add_done_callback(self._burials.discard)

    def _note_death(self, now: float, alive: _Alive) -> None:
        self._deaths = 1 if now - alive.since > _LONG_LIFE_S else self._deaths + 1
        pause = _PAUSES[min(self._deaths, len(_PAUSES) - 1)]
        self._not_before = now + pause
        _log.warning("the sandbox's zygote ended (%s in a row)", self._deaths)


def _spawn() -> tuple[subprocess.Popen[bytes], socket.socket, int]:
    """Start one; blocks. Its error output goes to a memory file."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    errors = -1
    try:
        ours.setblocking(False)
        errors = os.memfd_create("zygote-errors", os.MFD_CLOEXEC)
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
            inside("zygote", str(theirs.fileno())),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            pass_fds=(theirs.fileno(),),
            env=inside_environment(),
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        ours.close()
        if errors >= 0:
            os.close(errors)
        raise
    finally:
        theirs.close()
    return process, ours, errors


def _reap(alive: _Alive) -> None:
    """Wait for its end, kill it if necessary, and log its output; blocks."""
    try:
        alive.process.wait(_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        alive.process.kill()
        alive.process.wait()
    size = os.fstat(alive.errors).st_size
    said = os.pread(alive.errors, _SHOWN_BYTES, max(0, size - _SHOWN_BYTES))
    os.close(alive.errors)
    if said:
        _log.warning("the sandbox's zygote printed: %s", said.decode("utf-8", "replace"))


def _sealed_file(data: bytes) -> int:
    """Return a sealed, immutable memory file."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
