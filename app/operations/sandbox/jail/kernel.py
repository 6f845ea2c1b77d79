"""Kernel calls without a function in Python's library."""

from __future__ import annotations

import ctypes
import os

from app.operations.sandbox.jail.numbers import NUMBERS

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
AT_FDCWD = -100

Argument = int | bytes | ctypes.Array[ctypes.c_char] | None

libc = ctypes.CDLL(None, use_errno=True)
_call = libc.syscall
_call.restype = ctypes.c_long


def syscall(name: str, *arguments: Argument) -> int:
    """Call `name`; integers are passed as longs, bytes and buffers as pointers.

    Raises:
        OSError: errors of the call; ENOSYS if this machine lacks it.
    """
    number = NUMBERS.get(name, -1)
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_call(ctypes.c_long(number), *given), name)


def prctl(operation: int, value: int = 0) -> None:
    """Change an attribute of this process.

    Raises:
        OSError: as the kernel answers.
    """
    zero = ctypes.c_ulong(0)
    answer = libc.prctl(ctypes.c_int(operation), ctypes.c_ulong(value), zero, zero, zero)
    _checked(answer, f"prctl {operation}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount `source` on `target`.

    Raises:
        OSError: as the kernel answers.
    """
    answer = libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode(),
        ctypes.c_ulong(flags),
        data.encode(),
    )
    _checked(answer, f"mount {target}")


def _checked(answer: int, what: str) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return answer
