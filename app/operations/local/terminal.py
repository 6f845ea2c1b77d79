"""Pseudo-terminals for programs that need one."""

from __future__ import annotations

import fcntl
import os
import struct
import termios

from app.operations.protocols.processes import Terminal


def open_terminal(size: Terminal) -> tuple[int, int, str]:
    """Return our end, the program's end and its path; both descriptors close on exec.

    Raises:
        OSError: no terminal is available.
    """
    ours, theirs = os.openpty()
    try:
        packed = struct.pack("HHHH", size.rows, size.columns, 0, 0)
        fcntl.ioctl(ours, termios.TIOCSWINSZ, packed)
        return ours, theirs, os.ttyname(theirs)
    except OSError:
        os.close(ours)
        os.close(theirs)
        raise
