"""Identity of a process, to detect whether it is still running."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def identity() -> str:
    """Return `<pid>-<start time>-<boot ID>`: PIDs are reused, and start times are since boot."""
    return _identity_of(os.getpid()) or f"{os.getpid()}-0"


def is_alive(identity: str) -> bool:
    """Return whether the process with `identity` still runs on this machine."""
    pid, _, _ = identity.partition("-")
    return pid.isdigit() and _identity_of(int(pid)) == identity


def _identity_of(pid: int) -> str | None:
    """Return the identity of a PID, or None if it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text[text.rfind(")") + 2 :].split()
    return None if fields[0] == "Z" else f"{pid}-{fields[19]}-{_boot()}"


@lru_cache(maxsize=1)
def _boot() -> str:
    """Return the boot ID, because a service may get the same PID and start time at each boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "0"
