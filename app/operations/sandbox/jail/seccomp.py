"""Installation of system call filters."""

from __future__ import annotations

import ctypes
import errno

from app.operations.sandbox.jail.kernel import syscall

_SET_MODE_FILTER = 1
_ALL_THREADS = 1
_NEW_LISTENER = 8
_INSTRUCTION_BYTES = 8


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_void_p))


def install(program: bytes) -> None:
    """Install `program` permanently on every thread of this process; needs `no_new_privs`.

    Raises:
        OSError: as the kernel answers.
    """
    if _load(program, _ALL_THREADS) != 0:
        raise OSError(errno.EBUSY, "a thread could not take the filter")


def install_with_listener(program: bytes) -> int:
    """Install a filter with NOTIFY verdicts; return the descriptor to read them from. See
    `install`.
    """
    return _load(program, _NEW_LISTENER)


def _load(program: bytes, flags: int) -> int:
    lines = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // _INSTRUCTION_BYTES, ctypes.cast(lines, ctypes.c_void_p))
    return syscall("seccomp", _SET_MODE_FILTER, flags, ctypes.addressof(header))
