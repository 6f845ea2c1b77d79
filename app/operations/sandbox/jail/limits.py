"""Kernel limits of each process."""

from __future__ import annotations

import resource
from pathlib import Path

from app.operations.sandbox.jail.job import Policy

_GRACE_CPU_S = 1  # SIGXCPU first, then SIGKILL


def apply(policy: Policy, *, own_count: bool) -> None:
    """Set the limits of `policy` on this process and its children.

    Args:
        own_count: whether the kernel counts this tree's processes separately from others of the
            same user, as in a separate user namespace.

    Raises:
        OSError, ValueError: as the kernel answers.
    """
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_CPU, policy.cpu_s, policy.cpu_s + _GRACE_CPU_S)
    _set(resource.RLIMIT_FSIZE, policy.file_bytes)
    _set(resource.RLIMIT_NOFILE, policy.open_files)
    _set(resource.RLIMIT_MEMLOCK, 0)
    _set(resource.RLIMIT_MSGQUEUE, 0)
    _set(resource.RLIMIT_RTPRIO, 0)
    # address space does not measure memory of programs that reserve far more than they use (node,
    # java); the supervisor meters their tree
    _set(resource.RLIMIT_DATA if policy.forks else resource.RLIMIT_AS, policy.memory_bytes)
    if policy.forks:
        others = 0 if own_count else _tasks()
        _set(resource.RLIMIT_NPROC, others + policy.tasks)


def _set(kind: int, soft: int, hard: int | None = None) -> None:
    """Lower a limit; a lower one stays."""
    wanted = soft if hard is None else hard
    if soft < 0:
        raise ValueError(f"a limit of {soft}")  # the kernel would treat it as no limit
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, wanted = min(soft, ceiling), min(wanted, ceiling)
    resource.setrlimit(kind, (soft, wanted))


def _tasks() -> int:
    """Return the number of threads on the machine: at least as many as the user has.

    The kernel's limit counts all of them; the supervisor enforces the tree's own limit.
    """
    text = Path("/proc/loadavg").read_text(encoding="ascii")
    return int(text.split()[3].partition("/")[2])
