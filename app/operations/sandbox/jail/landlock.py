"""Landlock: the kernel's list of what a process and its children may access.

Not restricted, as measured on Linux 6.18 (ABI 7): changes of mode, times and attributes of files,
MPTCP, TCP fast open, datagrams, sockets with a path, priority and affinity of other processes. The
seccomp filters and the metadata guard close these gaps.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from dataclasses import dataclass

from app.operations.sandbox.jail import folder
from app.operations.sandbox.jail.kernel import syscall

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE = 1 << 4 | 1 << 5
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

READ = READ_FILE | READ_DIR
READ_EXECUTE = READ | EXECUTE
DEVICE = READ_FILE | WRITE_FILE
TERMINAL = DEVICE | IOCTL_DEV
WRITE = (READ | WRITE_FILE | REMOVE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM) | (
    REFER | TRUNCATE
)
WRITE_EXECUTE = WRITE | EXECUTE

_FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_FIRST_ABI_RIGHTS = (1 << 13) - 1
_RIGHTS_SINCE = {2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
_NETWORK_SINCE = 4
_SCOPE_SINCE = 6
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_RULE_PATH, _RULE_PORT = 1, 2
_VERSION_FLAG = 1
_EVERYWHERE = "/"


@dataclass(frozen=True, slots=True)
class Domain:
    """Domain of a process; everything handled and not listed is refused.

    Attributes:
        files: paths and their rights; None does not restrict files.
        connect: TCP ports it may connect to; None does not restrict TCP. No port may be bound.
        scope: no signal and no abstract socket leaves the domain.
        exact: those of `files` that are no rule where a link stands in them.
    """

    files: tuple[tuple[str, int], ...] | None = None
    connect: tuple[int, ...] | None = None
    scope: bool = False
    exact: frozenset[str] = frozenset()


def abi() -> int:
    """Return the version of Landlock in the kernel; 0 for none."""
    try:
        return syscall("landlock_create_ruleset", 0, 0, _VERSION_FLAG)
    except OSError:
        return 0


def restrict(domain: Domain) -> None:
    """Restrict this thread and its children to `domain`; needs `no_new_privs`.

    Raises:
        OSError: ENOTSUP if the kernel does not support a part of it; nothing is installed then. A
            path that does not exist grants nothing, nor does one of a writable folder that leads
            through a link.
    """
    version = abi()
    too_old = (
        (domain.files is not None and version < 1)
        or (domain.connect is not None and version < _NETWORK_SINCE)
        or (domain.scope and version < _SCOPE_SINCE)
    )
    if too_old:
        raise OSError(errno.ENOTSUP, f"Landlock ABI {version} is too old")
    files, rights = domain.files, _rights(version)
    if files is None:
        # Every domain refuses moving or linking a file into another folder unless allowed, even one
        # that does not restrict files.
        files, rights = ((_EVERYWHERE, REFER),), rights & REFER
    ports = _BIND_TCP | _CONNECT_TCP if domain.connect is not None else 0
    scope = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if domain.scope else 0
    size = 24 if version >= _SCOPE_SINCE else 16 if version >= _NETWORK_SINCE else 8
    attributes = struct.pack("QQQ", rights, ports, scope)[:size]
    ruleset = syscall("landlock_create_ruleset", attributes, size, 0)
    try:
        if rights:
            _allow_paths(ruleset, files, domain.exact, rights)
        for port in domain.connect or ():
            _add(ruleset, _RULE_PORT, struct.pack("<QQ", _CONNECT_TCP, port))
        syscall("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _rights(version: int) -> int:
    return _FIRST_ABI_RIGHTS | sum(
        right for since, right in _RIGHTS_SINCE.items() if version >= since
    )


def _allow_paths(
    ruleset: int, files: tuple[tuple[str, int], ...], plain: frozenset[str], handled: int
) -> None:
    for path, rights in files:
        try:
            descriptor = _open(path, rights, exact=path in plain)
        except OSError:
            continue
        try:
            allowed = rights & handled
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                allowed &= _FOR_FILES
            _add(ruleset, _RULE_PATH, struct.pack("<Qi", allowed, descriptor))
        finally:
            os.close(descriptor)


def _open(path: str, rights: int, *, exact: bool) -> int:
    """Open the target of a rule. A writable folder is named by its real path: a link that has
    replaced it grants nothing.
    """
    if exact or rights == WRITE_EXECUTE:
        return folder.open_plain(path)
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _add(ruleset: int, kind: int, rule: bytes) -> None:
    syscall("landlock_add_rule", ruleset, kind, ctypes.create_string_buffer(rule, len(rule)), 0)
