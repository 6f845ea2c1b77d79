"""Reliable termination of a tree, whatever it forked.

The best available of three methods is used: `kill(-1)` by the first process of a PID namespace
reaches exactly that namespace; in a Landlock domain with signal scope, it reaches exactly the
domain; otherwise every descendant is stopped and then killed, repeatedly. The last method loses
against a fork bomb that refills itself, which `RLIMIT_NPROC` and the meter must limit.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from app.operations.sandbox.jail.procfs import ProcFs

_GIVE_UP_S = 10.0
_PAUSE_S = 0.01
_AT_ONCE = 1024  # in a tree that forks continuously, processes end faster than they are reaped
_FIRST, _ALL = 1, -1
INCOMPLETE = "incomplete"


@dataclass(slots=True)
class Remains:
    """Totals of the reaped processes.

    Attributes:
        statuses: wait status by process number.
        cpu_s: processor time of all.
        peak_bytes: peak memory of the largest one.
    """

    statuses: dict[int, int] = field(default_factory=dict)
    cpu_s: float = 0.0
    peak_bytes: int = 0

    def reap(self) -> bool:
        """Reap ended processes, up to a limit; False if no child is left."""
        for _ in range(_AT_ONCE):
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self._add(pid, status, usage)
        return True

    def _add(self, pid: int, status: int, usage: resource.struct_rusage) -> None:
        self.statuses[pid] = status
        self.cpu_s += usage.ru_utime + usage.ru_stime
        self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss << 10)


class TreeReaper:
    """Signals and ends the tree below this process, which adopts its orphans.

    Args:
        contained: whether this process is the first of a separate namespace.
        scoped: whether it is in a Landlock domain with signal scope.
        protected: processes that a wildcard must not reach.
    """

    def __init__(
        self, proc: ProcFs, *, contained: bool, scoped: bool, protected: Sequence[int]
    ) -> None:
        self._proc = proc
        if contained and os.getpid() == _FIRST != proc.own:
            self.method = "pidns"
        elif scoped and all(map(_out_of_reach, protected)):
            self.method = "landlock"
        else:
            self.method = "scan"

    def ask(self) -> None:
        """Ask every process of the tree to end."""
        self._signal(signal.SIGTERM)

    def still_running(self, main: int) -> int:
        """Return how many processes of the tree still run, besides `main`."""
        running = (pid for pid, _ in self._proc.descendants(self._proc.own) if pid != main)
        return sum(1 for pid in running if not self._proc.is_zombie(pid))

    def finish(self, remains: Remains) -> str:
        """End the tree and reap all of it.

        Returns:
            The method; `incomplete` if a process cannot be killed.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        deadline = time.monotonic() + _GIVE_UP_S
        while True:
            # First: a tree that forks continuously takes more of the processor each moment.
            if self.method == "scan":
                self._signal(signal.SIGSTOP)
            self._signal(signal.SIGKILL)
            if not remains.reap():
                return self.method
            signal.sigtimedwait([signal.SIGCHLD], _PAUSE_S)
            if time.monotonic() > deadline:
                return INCOMPLETE

    def _signal(self, number: signal.Signals) -> None:
        if self.method != "scan":
            _send(_ALL, number)
            return
        for pid, _ in list(self._proc.descendants(self._proc.own)):
            _send(pid, number)


def _out_of_reach(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
