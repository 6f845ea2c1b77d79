"""Ending a tree for certain, whatever it forked.

Three ways, the best there is: `kill(-1)` by the first process of a process-number namespace
reaches that namespace and nothing else, at once; in a Landlock domain with signal scope, it
reaches the domain and nothing else; else every descendant is stopped first and then killed,
again and again. The last one loses against a fork bomb that refills itself, which
`RLIMIT_NPROC` and the meter have to hold.
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
_AT_ONCE = 1024  # of a tree that forks without end, processes end faster than they are reaped
_FIRST, _ALL = 1, -1
INCOMPLETE = "incomplete"


@dataclass(slots=True)
class Remains:
    """What the reaped processes left.

    Attributes:
        statuses: wait status by process number.
        cpu_s: processor time of all of them.
        peak_bytes: the largest that any single one was.
    """

    statuses: dict[int, int] = field(default_factory=dict)
    cpu_s: float = 0.0
    peak_bytes: int = 0

    def reap(self) -> bool:
        """Reap what has ended, unless that is very much; False when no child is left."""
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
        contained: whether this process is the first of a namespace of its own.
        scoped: whether it is in a Landlock domain with signal scope.
        protected: processes that must be out of a wildcard's reach before it is used.
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
        """How many processes of the tree run on beside `main`."""
        running = (pid for pid, _ in self._proc.descendants(self._proc.own) if pid != main)
        return sum(1 for pid in running if not self._proc.is_zombie(pid))

    def finish(self, remains: Remains) -> str:
        """End the tree and reap all of it.

        Returns:
            The method; `incomplete` when something is left that cannot be killed.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        deadline = time.monotonic() + _GIVE_UP_S
        while True:
            # First of all: a tree that forks without end leaves less of the processor each moment.
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
