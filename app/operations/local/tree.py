"""All processes from one start, found through /proc and ended.

A member is in the leader's session or group, or descends from a member, or has the start's marker
in its environment, which survives double forking and setsid. The leader stays unreaped until the
tree has ended, so its number, and with it the session's and the group's, cannot be reused; members
are signalled through pidfds, checked against their start time.

The service is not a child subreaper: that is process-wide, would give it the orphans of every
library that starts processes, and the marker finds the same ones. A program that clears its
environment and leaves its session and its parent escapes; containing such a program is up to the
sandbox.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARKER = "TOLLGATE_START"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: int  # clock ticks since boot


class ProcessTree:
    """Process tree of `leader`, whose environment contains `MARKER=token`."""

    def __init__(self, leader: int, token: str) -> None:
        self._leader = leader
        self._marker = f"{MARKER}={token}".encode()
        own = _read(leader)
        self._started = own.started if own else 0
        self._known: set[tuple[int, int]] = {(leader, self._started)}

    def signal(self, number: signal.Signals) -> int:
        """Send `number` once to every living member; return how many there were."""
        members = self._living()
        if any(one.group == self._leader for one in members):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, number)  # immediately, including newly forked ones
        for one in members:
            if one.group != self._leader:
                _send(one, number)
        return len(members)

    def alive(self) -> int:
        """Return the number of living members, without zombies."""
        return len(self._living())

    def _living(self) -> list[_Process]:
        # older processes cannot descend from the leader
        candidates = [one for one in _all() if one.started >= self._started]
        members = {one.pid: one for one in candidates if self._is_member(one)}
        grew = True
        while grew:
            more = [one for one in candidates if one.pid not in members and one.parent in members]
            members.update((one.pid, one) for one in more)
            grew = bool(more)
        self._known = {(one.pid, one.started) for one in members.values()}
        self._reap_adopted(members.values())
        return [one for one in members.values() if one.state not in "ZX"]

    def _reap_adopted(self, members: Iterable[_Process]) -> None:
        # if the service is pid 1, orphans of the tree become its children
        for one in members:
            if one.state == "Z" and one.parent == os.getpid() and one.pid != self._leader:
                with suppress(ChildProcessError):
                    os.waitpid(one.pid, os.WNOHANG)

    def _is_member(self, one: _Process) -> bool:
        if self._leader in (one.pid, one.session, one.group):
            return True
        return (one.pid, one.started) in self._known or self._is_marked(one.pid)

    def _is_marked(self, pid: int) -> bool:
        try:
            environment = (_PROC / str(pid) / "environ").read_bytes()
        except OSError:
            return False
        return self._marker in environment.split(b"\0")


def _all() -> list[_Process]:
    with os.scandir(_PROC) as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [one for one in map(_read, pids) if one is not None]


def _read(pid: int) -> _Process | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # the name in parentheses may contain anything, including parentheses
    fields = text[text.rindex(b")") + 2 :].split()
    return _Process(
        pid, fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19])
    )


def _send(process: _Process, number: signal.Signals) -> None:
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        now = _read(process.pid)
        if now is not None and now.started == process.started:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return  # it has ended meanwhile, or belongs to another user
    finally:
        os.close(descriptor)
