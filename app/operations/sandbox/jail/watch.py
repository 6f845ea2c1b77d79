"""Watch of a tree: its end, its limits, and the service's orders."""

from __future__ import annotations

import json
import math
import os
import select
import socket
import time
from dataclasses import dataclass

from app.operations.sandbox.jail import layers
from app.operations.sandbox.jail.descriptors import say
from app.operations.sandbox.jail.guard import Guard
from app.operations.sandbox.jail.job import GO, STARTED, TERMINATE, Job
from app.operations.sandbox.jail.meter import Meter
from app.operations.sandbox.jail.reaper import Remains, TreeReaper

_READ = select.POLLIN
_LINE_BYTES = 4096
_NEVER_CONFINED = "the process ended before it was confined"


@dataclass(frozen=True, slots=True)
class StopCause:
    """Reason for the end of the watch.

    Attributes:
        reason: `exited`, `killed`, `setup`, or the exceeded limit.
        error: what failed, for `setup`.
    """

    reason: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Ears:
    """Sources of events of the supervisor.

    Attributes:
        top: main program started by it.
        number: its number on the machine; 0 if it ended too early.
        status: pipe to the service.
        leash: orders of the service.
        confirm: the payload's confirmation of its confinement.
        guard: delivers the listener of the metadata guard.
    """

    top: int
    number: int
    status: int
    leash: int
    confirm: int
    guard: int | None


class Watch:
    """Watch of one tree until a reason to end it.

    Attributes:
        clock: start of its time in monotonic seconds: with its work and after confinement, whose
            setup does not count.
        remains: totals of its reaped processes.
    """

    def __init__(
        self, job: Job, ears: Ears, meter: Meter, ending: TreeReaper, installed: tuple[str, ...]
    ) -> None:
        self.ears = ears
        self.clock = time.monotonic()
        self.meter = meter
        meter.started()
        self.remains = Remains()
        self._policy = job.policy
        self._ending = ending
        self._installed = installed
        self._confirmed = b""
        self._confirming = True
        self._parked = job.parked
        self._running = False
        self._guard: Guard | None = None
        self._look = self._glance = math.inf
        self._pidfd = os.pidfd_open(ears.top)
        self._urgent = select.poll()
        self._urgent.register(self._pidfd, _READ)
        self._urgent.register(ears.leash, _READ)
        self._poll = select.poll()
        for descriptor in (self._pidfd, ears.leash, ears.confirm, ears.guard):
            if descriptor is not None:
                self._poll.register(descriptor, _READ)

    def until_the_end(self) -> StopCause:
        """Watch the tree. The service limits the time before its clock starts."""
        self._look = time.monotonic() + self.meter.interval_s
        self._glance = time.monotonic() + (self.meter.glance_s or math.inf)
        while True:
            events = dict(self._poll.poll(self._patience()))
            verdict = self._hear(events)
            if verdict is not None:
                return verdict
            now = time.monotonic()
            if self._is_over(now):
                return StopCause("timeout")
            excess = self._excess(now) if self._policy.forks else None
            if excess is not None:
                return StopCause(excess)

    def _excess(self, now: float) -> str | None:
        """Return the exceeded limit among those due for a check."""
        excess = None
        if now >= self._glance:
            excess = self.meter.glance()
            self._glance = time.monotonic() + (self.meter.glance_s or math.inf)
        if excess is None and now >= self._look:
            self.remains.reap()  # ended orphans count as processes until then
            excess = self.meter.excess(self._is_due)
            self._look = time.monotonic() + self.meter.interval_s
        return excess

    def _is_over(self, now: float) -> bool:
        wall = self._policy.wall_s
        return self._running and wall is not None and now >= self.clock + wall

    def _is_due(self) -> bool:
        """Return whether the tree's time is up, it has ended, or the service gave an order."""
        return self._is_over(time.monotonic()) or bool(self._urgent.poll(0))

    def _patience(self) -> int | None:
        """Return the milliseconds until the next check."""
        due = [self._look, self._glance] if self._policy.forks else []
        if self._running and self._policy.wall_s is not None:
            due.append(self.clock + self._policy.wall_s)
        return max(0, int((min(due) - time.monotonic()) * 1000) + 1) if due else None

    def _hear(self, events: dict[int, int]) -> StopCause | None:
        ears = self.ears
        if ears.guard in events:
            self._take_listener(ears.guard)
        if self._guard is not None and self._guard.listener in events:
            self._guarded(events[self._guard.listener])
        if self._confirming and (ears.confirm in events or self._pidfd in events):
            failed = self._hear_confirmation(ended=self._pidfd in events)
            if failed is not None:
                return failed
        if self._pidfd in events:
            return StopCause("exited")
        if ears.leash in events:
            return self._obey()
        return None

    def _take_listener(self, channel: int | None) -> None:
        assert channel is not None
        self._poll.unregister(channel)
        with socket.socket(fileno=channel) as receiver:
            _, listeners, _, _ = socket.recv_fds(receiver, 1, 1)
        for listener in listeners:
            self._guard = Guard(listener, self._policy.writable)
            self._poll.register(listener, _READ)

    def _guarded(self, event: int) -> None:
        assert self._guard is not None
        if event & _READ:
            self._guard.answer()
        else:  # no process is left that could call
            self._poll.unregister(self._guard.listener)

    def _hear_confirmation(self, *, ended: bool) -> StopCause | None:
        part = os.read(self.ears.confirm, _LINE_BYTES)
        self._confirmed += part
        if part and not part.endswith(b"\n") and not ended:
            return None
        self._confirming = False
        self._poll.unregister(self.ears.confirm)
        word = json.loads(self._confirmed) if self._confirmed.endswith(b"\n") else {}
        if "layers" not in word:
            return StopCause("setup", error=word.get("error", _NEVER_CONFINED))
        if not self._parked:
            self._begin()
        on = {*self._installed, *word["layers"]}
        say(
            self.ears.status,
            event=STARTED,
            pid=self.ears.number,
            layers=[name for name in layers.ALL if name in on],
            missing=layers.missing(self._policy),
        )
        return None

    def _begin(self) -> None:
        self._running = True
        self.clock = time.monotonic()

    def _obey(self) -> StopCause | None:
        orders = os.read(self.ears.leash, 64)
        if not orders:
            return StopCause("killed")
        if GO in orders and not self._running:
            self._begin()
        if TERMINATE in orders:
            self._ending.ask()
        return None
