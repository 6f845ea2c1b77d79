"""Asking the kernel what it can do, by trying."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_SYS_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_VERSION = 1
_PR_GET_SECCOMP = 21
_UNSHARE_USER = (
    "import ctypes, sys; sys.exit(ctypes.CDLL(None, use_errno=True).unshare(0x10000000) != 0)"
)
_PROBE_TIMEOUT_S = 10


def has_openat2() -> bool:
    """Whether the kernel, and what filters it, let us resolve paths beneath a folder."""
    from app.operations.local.beneath import best_opener, open_in_kernel

    return best_opener() is open_in_kernel


def landlock_abi() -> int:
    """Version of Landlock; 0 without it."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(
        ctypes.c_long(_SYS_LANDLOCK_CREATE_RULESET),
        None,
        ctypes.c_size_t(0),
        ctypes.c_uint32(_LANDLOCK_VERSION),
    )
    return max(0, int(version))


def has_seccomp() -> bool:
    """Whether system calls can be filtered."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) < 0:
        return False
    return Path("/proc/sys/kernel/seccomp/actions_avail").exists()


def has_user_namespaces() -> bool:
    """Whether an unprivileged process may make one; tried in a child."""
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-I", "-c", _UNSHARE_USER],
            timeout=_PROBE_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def is_writable(folder: Path) -> bool:
    """Whether a file can be made in `folder`, or in the nearest parent that exists."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        return False
    try:
        handle = os.open(place, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError:
        return os.access(place, os.W_OK)
    os.close(handle)
    return True
