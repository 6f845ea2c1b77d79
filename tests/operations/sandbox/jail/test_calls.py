"""System calls, the network, and other processes."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from app.operations.sandbox.jail.bpf import ALLOW, Filter
from tests.operations.sandbox.jail.inside import NAMESPACES, Inside, bash, python

TRY = """
import ctypes, errno, os, socket, signal, fcntl
libc = ctypes.CDLL(None, use_errno=True)
def attempt(call, *arguments):
    try:
        answer = call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'done'
def raw(number, *arguments):
    ctypes.set_errno(0)
    failed = libc.syscall(number, *arguments) < 0
    return errno.errorcode[ctypes.get_errno()] if failed else 'done'
"""


def said(inside: Inside, root: Path, layers: tuple[str, ...], code: str, **policy) -> str:
    result = inside.run(python(f"{TRY}\n{code}", "lenient", root, layers, **policy))
    return result.out.strip() or repr(result)


@pytest.mark.parametrize(
    "call",
    [
        "raw(272, 0x10000000)",  # unshare a user namespace
        "raw(56, 0x10000000 | 17, 0, 0, 0, 0)",  # clone one
        "raw(101, 0, 0, 0, 0)",  # ptrace
        "raw(165, b'none', b'/', b'tmpfs', 0, 0)",  # mount
        "raw(161, b'/')",  # chroot
        "raw(321, 0, 0, 0)",  # bpf
        "raw(298, 0, 0, 0, 0, 0)",  # perf_event_open
        "raw(425, 1, 0)",  # io_uring_setup
        "raw(323, 0)",  # userfaultfd
        "raw(250, 0, 0)",  # keyctl
        "raw(319, b'x', 0)",  # memfd_create
        "raw(304, 0, 0, 0)",  # open_by_handle_at
        "raw(438, 0, 0, 0)",  # pidfd_getfd
        "raw(29, 0, 4096, 0o1600)",  # shmget
        "raw(203, 1, 8, b'\\1' * 8)",  # sched_setaffinity
        "raw(302, 1, 7, 0, 0)",  # prlimit64 of another
        "raw(141, 0, 1, 19)",  # setpriority of another
        "raw(141, 2, 0, 19)",  # setpriority of the whole user
        "raw(317, 1, 8, 0)",  # seccomp with a listener
        "attempt(fcntl.fcntl, 0, 8, 1)",  # F_SETOWN
        "attempt(fcntl.ioctl, 0, 0x5412, b'x')",  # TIOCSTI
    ],
)
def test_calls_that_reach_beyond_are_refused(
    inside: Inside, layers: tuple[str, ...], root: Path, call: str
):
    assert said(inside, root, layers, f"print({call})") == "EPERM"


@pytest.mark.parametrize("number", [435, 471, 600, 0x40000000 + 39])
def test_calls_nobody_has_judged_do_not_exist(
    inside: Inside, layers: tuple[str, ...], root: Path, number: int
):
    assert said(inside, root, layers, f"print(raw({number}, 0, 0))") == "ENOSYS"


def test_sockets_exist_as_connected_pairs_and_in_a_network_of_the_tree_alone(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    code = """
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, 40, 38):
    print(attempt(socket.socket, family, socket.SOCK_STREAM))
print(attempt(socket.socketpair), attempt(socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM))
"""

    internet = "done" if layers == NAMESPACES else "EPERM"
    wanted = [internet, internet, *["EPERM"] * 4, "done", "EPERM"]
    assert said(inside, root, layers, code).split() == wanted


def test_with_a_port_only_that_port_is_reached(inside: Inside, layers: tuple[str, ...], root: Path):
    with (
        socket.create_server(("127.0.0.1", 0)) as allowed,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        open_port, closed_port = allowed.getsockname()[1], other.getsockname()[1]
        code = f"""
stream = socket.SOCK_STREAM
good, bad = ('127.0.0.1', {open_port}), ('127.0.0.1', {closed_port})
print(attempt(socket.socket().connect, good), attempt(socket.socket().connect, bad))
print(attempt(socket.socket, socket.AF_INET, stream, 262))
print(attempt(lambda: socket.socket().sendto(b'x', 0x20000000, bad)))
print(attempt(socket.socket, socket.AF_INET, socket.SOCK_DGRAM))
print(attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW))
print(attempt(socket.socket().bind, ('127.0.0.1', 0)))
print(attempt(socket.socket, socket.AF_UNIX))
"""
        answer = said(inside, root, layers, code, tcp_ports=(open_port,))
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()

    expected = ["done", "EACCES", "EPERM", "ENOTSUP", "EPERM", "EPERM", "EACCES", "EPERM"]
    assert answer.split() == expected


def test_no_signal_leaves_the_tree(inside: Inside, layers: tuple[str, ...], root: Path):
    uid = inside.uid if inside.uid is not None else os.getuid()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=uid, group=uid) as victim:
        code = f"""
for pid in ({victim.pid}, {os.getpid()}, 1, os.getppid()):
    print(attempt(os.kill, pid, 9))
signal.signal(15, signal.SIG_IGN)
print(attempt(os.kill, -1, 15))
"""
        answers = said(inside, root, layers, code).split()
        assert victim.poll() is None
        victim.communicate()

    assert set(answers[:4]) <= {"EPERM", "ESRCH"}


def test_nothing_but_the_streams_is_inherited(inside: Inside, layers: tuple[str, ...], root: Path):
    code = """
print(sorted(os.environ))
held = [fd for fd in range(1024) if not attempt(os.fstat, fd) == 'EBADF']
print(held)
import sys
print([name for name in sys.modules if name.startswith('app')], any('main' in p for p in sys.path))
"""

    lines = said(inside, root, layers, code).splitlines()

    assert set(eval(lines[0])) - {"MPLBACKEND", "LC_CTYPE"} == {"HOME", "LANG", "PATH", "TMPDIR"}
    assert eval(lines[1]) == [0, 1, 2, 3]
    assert lines[2].startswith("[]")


def test_root_has_no_capabilities_left(inside: Inside, layers: tuple[str, ...], root: Path):
    code = "raw(125, (ctypes.c_uint32 * 2)(0x20080522, 0), got := (ctypes.c_uint32 * 6)())\n"
    result = said(inside, root, layers, f"{code}print(list(got), attempt(os.setgroups, [0]))")

    assert result == "[0, 0, 0, 0, 0, 0] EPERM"


def test_a_shell_program_gets_default_signals(inside: Inside, layers: tuple[str, ...], root: Path):
    result = inside.run(bash("yes | head -1; kill -PIPE $$", root, layers))

    assert result.out == "y\n"
    assert result.ended["signal"] == 13


def test_a_call_without_a_number_is_no_rule():
    with pytest.raises(ValueError, match="'no_such_call' has no number"):
        Filter().answer(("no_such_call",), ALLOW)
