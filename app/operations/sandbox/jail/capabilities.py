"""Dropping of root's capabilities."""

from __future__ import annotations

import ctypes
import os
import struct

from app.operations.sandbox.jail import kernel
from app.operations.sandbox.jail.kernel import prctl, syscall

_VERSION = 0x20080522
_LAST_POSSIBLE = 63
_CLEAR_AMBIENT = 4
_NO_ROOT = 0x2F  # uid 0 gains nothing on exec, irreversibly


def drop() -> None:
    """Drop every capability permanently.

    Raises:
        OSError: a capability remains.
    """
    privileged = any(_effective())
    if privileged:
        for number in range(_LAST_POSSIBLE + 1):
            try:
                prctl(kernel.PR_CAPBSET_DROP, number)
            except OSError:
                break  # beyond the last capability of this kernel
        prctl(kernel.PR_SET_SECUREBITS, _NO_ROOT)
    prctl(kernel.PR_CAP_AMBIENT, _CLEAR_AMBIENT)
    syscall("capset", _header(), bytes(24))
    if any(_effective()):
        raise PermissionError("capabilities are left")


def become(uid: int) -> None:
    """Become the ordinary user `uid`, including its group.

    Raises:
        OSError: as the kernel answers.
    """
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _header() -> bytes:
    return struct.pack("Ii", _VERSION, 0)


def _effective() -> tuple[int, int]:
    data = ctypes.create_string_buffer(24)
    syscall("capget", _header(), data)
    words = struct.unpack("6I", data.raw)
    return words[0], words[3]
