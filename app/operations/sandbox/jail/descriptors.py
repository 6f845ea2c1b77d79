"""Descriptors of a job, and the lines written to them."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app.operations.sandbox.jail.job import Job
from app.operations.sandbox.jail.kernel import libc

_ALWAYS = 5  # stdin, stdout, stderr, status, leash
_HIGHEST = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Wires:
    """Descriptors of a job; `work`, `report` and `egress` only if the job has them."""

    stdin: int
    stdout: int
    stderr: int
    status: int
    leash: int
    work: int | None = None
    report: int | None = None
    egress: int | None = None

    @classmethod
    def of(cls, job: Job, descriptors: Sequence[int]) -> Wires:
        """Assign the descriptors received with `job`, in wire order.

        Raises:
            ValueError: their number differs from the job's.
        """
        rest = list(descriptors[_ALWAYS:])
        work = rest.pop(0) if job.parked and rest else None
        report = rest.pop(0) if job.argv is None and rest else None
        egress = rest.pop(0) if job.policy.served_ports and rest else None
        lacking = (job.parked and work is None) or (job.policy.served_ports and egress is None)
        if len(descriptors) < _ALWAYS or rest or lacking:
            raise ValueError(f"{len(descriptors)} descriptors do not match the job")
        stdin, stdout, stderr, status, leash = descriptors[:_ALWAYS]
        return cls(stdin, stdout, stderr, status, leash, work, report, egress)


def say(descriptor: int, **event: Any) -> None:
    """Write one line of JSON; a closed reader is ignored."""
    line = json.dumps(event).encode() + b"\n"
    with suppress(OSError):
        os.write(descriptor, line)


def place(wanted: Mapping[int, int]) -> None:
    """Move every descriptor to its requested number, replacing existing ones."""
    above = max(*wanted, *wanted.values()) + 1
    copies = {
        number: fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above)
        for number, descriptor in wanted.items()
    }
    for number, copy in copies.items():
        os.dup2(copy, number)
        os.close(copy)


def close_all_but(kept: Sequence[int]) -> None:
    """Close every descriptor but `kept`."""
    lowest = 0
    for descriptor in sorted(set(kept)):
        if descriptor > lowest:
            _close_range(lowest, descriptor - 1)
        lowest = descriptor + 1
    _close_range(lowest, _HIGHEST)


def _close_range(first: int, last: int) -> None:
    if libc.close_range(first, last, 0) == 0:
        return
    limit = os.sysconf("SC_OPEN_MAX")
    os.closerange(first, min(last + 1, limit))
