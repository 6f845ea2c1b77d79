"""Namespaces: a separate view of the machine, read-only except for the writable folders.

They need no privilege if the kernel allows user namespaces for ordinary users; they are not
available in Docker's default profile.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from app.operations.sandbox.jail import kernel
from app.operations.sandbox.jail.kernel import libc, mount, syscall
from app.operations.sandbox.jail.numbers import NUMBERS
from app.operations.sandbox.jail.procfs import ProcFs

# holds the interpreter lock during the call, which a fork needs
_interpreter = ctypes.PyDLL(None, use_errno=True)
_interpreter.syscall.restype = ctypes.c_long

_MOUNTS = 0x20000
_NAMES = 0x4000000
_MESSAGES = 0x8000000
_USERS = 0x10000000
_PROCESSES = 0x20000000
_NETWORK = 0x40000000

_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_SET_READ_ONLY, _SET_NO_SUID, _SET_NO_DEVICES, SET_NO_EXEC = 1, 2, 4, 8
AT_RECURSIVE = 0x8000
_SET_FLAGS, _UP = 0x8914, 1
_HOST_NAME = b"sandbox"
_FIRST_NUMBERS = 300  # numbers reserved by the kernel when numbering wraps around
_PID_MAX_PER_NAMESPACE = (6, 14)
_KERNEL = Path("/proc/sys/kernel")
_PROC_OPTIONS = "hidepid=ptraceable"  # hides even the first process's command line
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount of its own
HOSTS, NAME_SERVERS = "/etc/hosts", "/etc/resolv.conf"
USERS, GROUPS = "/etc/passwd", "/etc/group"
OWN_HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"
_USER = "tollgate"
_HIDING = _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC
_NOTHING_IN_IT = "size=4k,mode=0555"
_SHARED_MEMORY_OPTIONS = "size=64m,mode=1777"


def fork(*, network: bool, users: bool) -> int:
    """Fork a child that is the first process of its own namespaces; like `os.fork`.

    Everything in them ends with that child. One step instead of unshare and fork, which would need
    another process. The child's C library has the parent's thread number, so the child may fork and
    call the kernel, but must not start threads.

    Args:
        network: whether to stay in the machine's network.
        users: whether to create a user namespace too, as ordinary users must; `settle` must follow.

    Raises:
        OSError: as the kernel answers.
    """
    flags = _PROCESSES | _MOUNTS | _MESSAGES | _NAMES | signal.SIGCHLD
    flags |= (0 if network else _NETWORK) | (_USERS if users else 0)
    number = ctypes.c_long(NUMBERS["clone"])
    nothing = [ctypes.c_long(0)] * 4
    _interpreter.PyOS_BeforeFork()
    pid: int = _interpreter.syscall(number, ctypes.c_long(flags), *nothing)
    failure = ctypes.get_errno()
    if pid == 0:
        _interpreter.PyOS_AfterFork_Child()
    else:
        _interpreter.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(failure, os.strerror(failure), "clone")
    return pid


def separate_users(proc: ProcFs) -> None:
    """Leave the machine's user namespace, including its root's rights.

    Raises:
        OSError: as the kernel answers.
    """
    uid, gid = os.geteuid(), os.getegid()
    syscall("unshare", _USERS)
    settle(proc, uid, gid)


def settle(proc: ProcFs, uid: int, gid: int) -> None:
    """Map the outside user and group into the new user namespace.

    Raises:
        OSError: as the kernel answers.
    """
    proc.write("setgroups", "deny")
    proc.write("uid_map", f"{uid} {uid} 1")
    proc.write("gid_map", f"{gid} {gid} 1")


def raise_loopback() -> None:
    """Enable the loopback device, the only connection in the new network.

    Raises:
        OSError: as the kernel answers.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))


def separate_files() -> None:
    """Make the new namespaces private, so that no mount reaches the machine.

    Raises:
        OSError: as the kernel answers.
    """
    libc.sethostname(_HOST_NAME, len(_HOST_NAME))
    mount("", "/", "", _RECURSIVE | _PRIVATE)


def furnish(
    writable: Sequence[str],
    tasks: int,
    hidden: Sequence[str] = (),
    read_only: Sequence[str] = (),
    *,
    temporary: Sequence[str] = (),
    files: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Set up the new namespaces' view of the files; after `separate_files`.

    Args:
        temporary: mounts that are already private to the tree.
        files: content of files that replace the machine's.

    Returns:
        Which of `/proc`, `/dev/shm` and `files` are private to the tree; the machine's others are
            inaccessible.

    Raises:
        OSError: as the kernel answers.
    """
    for folder in writable:
        mount(folder, folder, "", _BIND | _RECURSIVE)
    change("/", _SET_READ_ONLY | _SET_NO_SUID, 0, AT_RECURSIVE)
    for folder in writable:
        _make_writable(folder)
    for folder in temporary:
        # only this mount: mounts below it keep their attributes
        change(folder, _SET_NO_SUID | _SET_NO_DEVICES, _SET_READ_ONLY, 0)
    for path in read_only:
        with suppress(OSError):  # it does not exist, or was removed meanwhile
            mount(path, path, "", _BIND | _RECURSIVE)
            change(path, _SET_READ_ONLY | _SET_NO_SUID | _SET_NO_DEVICES, 0, AT_RECURSIVE)
    for folder in hidden:
        # replaced by an empty folder, which cannot be unmounted inside
        mount("tmpfs", folder, "tmpfs", _HIDING, _NOTHING_IN_IT)
    own = []
    with suppress(OSError):
        flags = _NO_SUID | _NO_DEVICES | _NO_EXEC
        mount("tmpfs", SHARED_MEMORY, "tmpfs", flags, _SHARED_MEMORY_OPTIONS)
        own.append(SHARED_MEMORY)
        own += [path for path, text in files.items() if _own_file(path, text)]
    # a container that hides parts of /proc cannot mount another one
    with suppress(OSError):
        mount("proc", "/proc", "proc", _NO_SUID | _NO_DEVICES | _NO_EXEC, _PROC_OPTIONS)
        _bound_numbers(tasks)
        change("/proc", _SET_READ_ONLY, 0, 0)
        own.append("/proc")
    return tuple(own)


def accounts(uid: int, gid: int, home: str) -> dict[str, str]:
    """Return files with the tree's own user: OpenSSH and PostgreSQL's client require its name."""
    home = "/" if ":" in home or "\n" in home else home
    users = {_USER: (uid, gid, home, "/bin/bash"), "root": (0, 0, "/root", "/bin/sh")}
    users["nobody"] = (65534, 65534, "/nonexistent", "/bin/false")
    return {
        USERS: "".join(
            f"{name}:x:{user}:{group}::{folder}:{shell}\n"
            for name, (user, group, folder, shell) in users.items()
        ),
        GROUPS: "".join(f"{name}:x:{group}:\n" for name, (_, group, *_) in users.items()),
    }


def _own_file(path: str, text: str) -> bool:
    """Return whether a private file has replaced one of the machine's."""
    written = Path(SHARED_MEMORY) / Path(path).name
    try:
        written.write_text(text, encoding="utf-8", errors="surrogateescape")
        mount(str(written), path, "", _BIND)
        change(path, _SET_READ_ONLY | _SET_NO_SUID | _SET_NO_DEVICES, 0, 0)
    except OSError:
        return False
    finally:
        written.unlink(missing_ok=True)
    return True


def _make_writable(folder: str) -> None:
    added = _SET_NO_SUID | _SET_NO_DEVICES
    try:
        change(folder, added, _SET_READ_ONLY, AT_RECURSIVE)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        change(folder, added, _SET_READ_ONLY, 0)  # a mount in it was read-only before


def _bound_numbers(tasks: int) -> None:
    """Limit process numbers against fork bombs: root has no RLIMIT_NPROC.

    Numbering starts at its wrap-around value, so that at most `tasks` processes and threads can be
    alive. Before Linux 6.14 the last number is the machine's, not the namespace's, and stays
    unchanged.
    """
    major, minor = os.uname().release.split(".")[:2]
    if (int(major), int(minor)) >= _PID_MAX_PER_NAMESPACE:
        with suppress(OSError):
            limit = str(_FIRST_NUMBERS + tasks)
            (_KERNEL / "pid_max").write_text(limit, encoding="ascii")
            (_KERNEL / "ns_last_pid").write_text(str(_FIRST_NUMBERS - 1), encoding="ascii")


def change(path: str, added: int, removed: int, flags: int) -> None:
    """Change attributes of a mount.

    Raises:
        OSError: as the kernel answers.
    """
    attributes = struct.pack("QQQQ", added, removed, 0, 0)
    name = os.fsencode(path)
    syscall("mount_setattr", kernel.AT_FDCWD, name, flags, attributes, len(attributes))
