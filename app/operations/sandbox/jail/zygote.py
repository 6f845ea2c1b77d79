"""Zygote: the clean, small process from which all runs are forked, with Python already warm.

It has nothing of the service: no memory, no environment, no descriptor but its control socket.
Every message on that socket is a job, for which it forks a supervisor. It ends with the socket; its
supervisors do not, because each has a separate leash.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from app.operations.sandbox.jail import job as wire
from app.operations.sandbox.jail import kernel, layers, namespaces
from app.operations.sandbox.jail.descriptors import Wires, say
from app.operations.sandbox.jail.job import Job
from app.operations.sandbox.jail.procfs import ProcFs
from app.operations.sandbox.jail.python.preload import preload
from app.operations.sandbox.jail.supervisor import Origin, supervise

_MOST_DESCRIPTORS = 9
_MESSAGE_BYTES = 64
_SWEEP_MS = 50
_STATUS = 4  # among a message's descriptors
# A third of a session's share. With 10, a tenth, jobs starved on a busy machine: a start took more
# than half a minute.
_SESSION_NICE = 5


def main() -> NoReturn:
    """Serve the control socket whose descriptor is the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    _stand_back()
    sys.path.pop(0)  # the service's modules cannot be found from here
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    preload()
    gc.collect()
    gc.freeze()
    try:
        control.send(wire.READY)
    except BrokenPipeError:
        os._exit(0)  # The service has ended meanwhile.
    _Zygote(control).serve()


def _stand_back() -> None:
    """Lower the priority below the service's.

    If the kernel schedules by session (`sched_autogroup_enabled`), niceness applies only within
    one. All jobs therefore stay in this process's session, which has a low priority as a whole;
    separate sessions would give two hundred jobs two hundred times the service's share.
    """
    with suppress(OSError):  # it does not schedule by session
        Path("/proc/self/autogroup").write_text(str(_SESSION_NICE), encoding="ascii")


class _Zygote:
    """Forks supervisors, reaps them, and ends the trees of killed ones."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._proc = ProcFs()
        self._supervisors: set[int] = set()
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        waker, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._waker = waker
        self._poll.register(waker, select.POLLIN)

    def serve(self) -> NoReturn:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        strays = False
        while True:
            events = dict(self._poll.poll(_SWEEP_MS if strays else None))
            if self._waker in events:
                with suppress(BlockingIOError):
                    os.read(self._waker, 4096)
            if events.get(self._control.fileno()):
                self._take_job()
            strays = self._sweep()

    def _take_job(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, _MOST_DESCRIPTORS)
        if not data:
            os._exit(0)
        try:
            job = wire.decode(os.pread(descriptors[0], os.fstat(descriptors[0]).st_size, 0))
            wires = Wires.of(job, descriptors[1:])
            origin = _origin(job, self._proc)
            pid = _fork(job, origin)
        except Exception as error:  # noqa: BLE001 - the service waits for an answer
            _refuse(descriptors, f"no supervisor: {error}")
        else:
            if pid == 0:
                self._become_supervisor(job, wires, origin)
            self._supervisors.add(pid)
        for descriptor in descriptors:
            os.close(descriptor)

    def _become_supervisor(self, job: Job, wires: Wires, origin: Origin) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            # the first process of a namespace only gets signals that it handles
            for number in (signal.SIGCHLD, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            supervise(job, wires, origin)
        finally:
            os._exit(1)  # whatever happens, this process must not become a second zygote

    def _sweep(self) -> bool:
        """Reap processes and kill orphans; return True while there were any.

        A supervisor that is killed leaves its tree to this process.
        """
        with suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._supervisors.discard(pid)
        children = self._proc.children(self._proc.own)
        strays = [pid for pid in children if pid not in self._supervisors]
        for stray in strays:
            for pid in [stray, *(below for below, _ in self._proc.descendants(stray))]:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        return bool(strays)


def _origin(job: Job, proc: ProcFs) -> Origin:
    contained = job.policy.forks and layers.NAMESPACES in job.policy.layers
    uid, gid = os.geteuid(), os.getegid()
    # root that will switch users creates the namespaces as root, and leaves it later
    users = contained and (job.policy.uid is None or uid != 0)
    return Origin(contained, users, uid, gid, proc.descriptor)


def _fork(job: Job, origin: Origin) -> int:
    if not origin.contained:
        return os.fork()
    return namespaces.fork(network=bool(job.policy.tcp_ports), users=origin.users)


def _refuse(descriptors: list[int], error: str) -> None:
    if len(descriptors) > _STATUS:
        say(descriptors[_STATUS], event=wire.ENDED, reason="setup", error=error)
