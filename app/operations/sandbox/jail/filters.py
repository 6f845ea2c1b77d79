"""System calls allowed at each level.

Strict has a list of allowed calls. The others allow everything except a list of refused calls,
because no list of calls needed by ordinary programs is ever complete; calls added to the kernel
later are refused too (`numbers.KNOWN`).
"""

from __future__ import annotations

import errno
import struct
from functools import cache
from typing import Literal

from app.operations.sandbox.jail import bpf
from app.operations.sandbox.jail.bpf import ALLOW, Filter, refuse
from app.operations.sandbox.jail.numbers import NUMBERS

Network = Literal["none", "own", "ports"]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_OTHER_PROCESSES = """ptrace process_vm_readv process_vm_writev kcmp process_madvise
 process_mrelease pidfd_getfd ioprio_set sched_setparam sched_setscheduler sched_setattr
 sched_setaffinity migrate_pages move_pages lookup_dcookie"""
_NAMESPACES = """unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick
 open_tree open_tree_attr move_mount mount_setattr listmount statmount"""
_KERNEL = """bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
 io_setup io_submit add_key request_key keyctl init_module finit_module delete_module
 kexec_load kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd settimeofday
 clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm modify_ldt vhangup
 syslog nfsservctl uselib ustat sysfs _sysctl vserver personality lsm_set_self_attr"""
_MEMORY = """memfd_create memfd_secret mbind set_mempolicy set_mempolicy_home_node
 remap_file_pages shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd
 msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"""
_FILES = """open_by_handle_at name_to_handle_at fanotify_init fanotify_mark mknod
 file_setattr"""
_IDENTITY = "setgroups capset"
_DENIED = _names(f"{_OTHER_PROCESSES} {_NAMESPACES} {_KERNEL} {_MEMORY} {_FILES} {_IDENTITY}")

# cp -p and tar continue without extended attributes if these are "not supported"; reserved but
# unwritten space is not metered, so libraries write zeros instead
_UNSUPPORTED = _names("""setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
 setxattrat removexattrat fallocate""")
# they report changes in unreadable folders; watchers fall back to polling. clone3 and openat2 hide
# their flags from filters; programs fall back to clone and openat
_ABSENT = ("inotify_init", "inotify_init1", "clone3", "openat2")
_STARTING = _names("fork vfork execve execveat setsid setpgid")
_OWNER = _names("chown fchown lchown fchownat")
_METADATA = _names("chmod fchmod fchmodat fchmodat2 utime utimes utimensat futimesat")
_SIGNALS = _names("kill tgkill tkill rt_sigqueueinfo rt_tgsigqueueinfo")
_CONNECTING = _names("connect bind listen accept accept4")

_STRICT = _names("""read write readv writev close fstat lseek munmap mremap brk madvise futex
 rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack exit exit_group clock_gettime
 clock_getres clock_nanosleep nanosleep gettimeofday time times getrandom getpid gettid getuid
 geteuid getgid getegid getrusage sched_yield restart_syscall rseq set_robust_list membarrier
 getcpu poll ppoll select pselect6 newfstatat stat dup uname sysinfo getcwd
 sched_getaffinity""")

_NEW_NAMESPACES = 0x7E020080  # CLONE_NEW*
_THREAD = 0x10000
_EXECUTABLE = 0x4  # PROT_EXEC
_SET_ID_BITS = 0o6000
_CREATING = 0x400040  # O_CREAT, O_TMPFILE
_NEW_LISTENER = 0x8
_PRIORITY_OF_USER = 2
_SET_DUMPABLE, _HIDDEN = 4, 0
_LEAVING_DEVICE = 4  # RENAME_WHITEOUT, which needs no capability
_FILE_TYPE, _FIFO = 0o170000, 0o010000
_FAST_OPEN = 0x20000000  # connects without connect(2), which Landlock does not see
_MPTCP = 262  # connects despite Landlock's rules for TCP
_PLAIN_PROTOCOLS = (0, 6, 17)  # the kernel's default, TCP, UDP
_SOCKET_TYPE = 0xF
_STREAM, _DATAGRAM, _RAW, _SEQPACKET = 1, 2, 3, 5
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_ROUTE = 0

# the kernel signals any process named by F_SETOWN on our behalf; leases and directory notification
# also reach outside
_FCNTL_REFUSED = (8, 10, 15, 1024, 1026)  # SETOWN SETSIG SETOWN_EX SETLEASE NOTIFY
_IOCTL_REFUSED = (
    *(0x5412, 0x541C, 0x5423),  # TIOCSTI TIOCLINUX TIOCSETD
    *(0x8901, 0x8902),  # FIOSETOWN SIOCSPGRP
    *(0x40086602, 0x40046602, 0x401C5820, 0x40087602),  # attributes of files
    *(0x40806685, 0x800C6613),  # verity and encryption of files
)
# TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX
_IOCTL_STRICT = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_OWN_PID = 0x7A5C3E19  # placeholder for the process's own number in a cached program


def strict(pid: int) -> bytes:
    """Return the filter of strict, for the process `pid`."""
    return _strict().replace(_placeholder(), struct.pack("<I", pid))


def standard(pid: int) -> bytes:
    """Return the filter of standard: one process with threads and without network."""
    return _standard().replace(_placeholder(), struct.pack("<I", pid))


@cache
def ordinary(*, network: Network, udp: bool, owners: bool) -> bytes:
    """Return the filter of lenient and bash, which may start programs.

    Args:
        network: `ports` for the machine's network, as restricted by Landlock; `own` for the tree's
            private network; or `none`.
        udp: allow datagrams in the machine's network.
        owners: whether another layer protects the owners of files outside.
    """
    program = Filter()
    _deny(program, _DENIED if owners else (*_DENIED, *_OWNER))
    program.judge("clone", bpf.argument(0) + bpf.when_any(_NEW_NAMESPACES, _no()) + _yes())
    _sockets(program, network=network, udp=udp)
    _set_id(program)
    return program.program(ALLOW)


def notifying(names: tuple[str, ...]) -> bytes:
    """Return a filter that passes these calls to a listener."""
    program = Filter()
    program.answer(names, bpf.NOTIFY)
    return program.program(ALLOW)


@cache
def _strict() -> bytes:
    program = Filter()
    program.judge("fcntl", bpf.argument(1) + bpf.one_of(_FCNTL_REFUSED, refuse(), ALLOW))
    program.judge("ioctl", bpf.argument(1) + bpf.one_of(_IOCTL_STRICT, ALLOW, refuse(errno.ENOTTY)))
    for name in ("mmap", "mprotect"):
        program.judge(name, bpf.argument(2) + bpf.when_any(_EXECUTABLE, _no()) + _yes())
    program.answer(_STRICT, ALLOW)
    _signal_self_only(program, ("kill", "tgkill"))
    return program.program(refuse())


@cache
def _standard() -> bytes:
    program = Filter()
    _deny(program, (*_DENIED, *_STARTING, *_METADATA, *_OWNER, "pidfd_send_signal"))
    program.judge("clone", bpf.argument(0) + bpf.when_any(_THREAD, _yes()) + _no())
    _sockets(program, network="none", udp=False)
    _signal_self_only(program, _SIGNALS)
    return program.program(ALLOW)


def _deny(program: Filter, names: tuple[str, ...]) -> None:
    """Refuse calls for all levels but strict, which allows far fewer."""
    program.answer(names, refuse())
    program.answer(_UNSUPPORTED, refuse(errno.EOPNOTSUPP))
    program.answer(_ABSENT, refuse(errno.ENOSYS))
    oneself = bpf.when_equal(0, _yes()) + _no()
    program.judge("prlimit64", bpf.argument(0) + oneself)
    others = bpf.argument(0) + bpf.when_equal(_PRIORITY_OF_USER, _no())
    program.judge("setpriority", others + bpf.argument(1) + oneself)
    # a process that cannot be inspected is not metered
    hiding = bpf.argument(1) + bpf.when_equal(_HIDDEN, _no()) + _yes()
    program.judge("prctl", bpf.argument(0) + bpf.when_equal(_SET_DUMPABLE, hiding) + _yes())
    program.judge("ioctl", bpf.argument(1) + bpf.one_of(_IOCTL_REFUSED, refuse(), ALLOW))
    program.judge("fcntl", bpf.argument(1) + bpf.one_of(_FCNTL_REFUSED, refuse(), ALLOW))
    # a listener of the program would replace the metadata guard
    listener = bpf.when_any(_NEW_LISTENER, _no()) + _yes()
    program.judge("seccomp", bpf.argument(1) + listener)
    fifo = bpf.masked(_FILE_TYPE) + bpf.when_equal(_FIFO, _yes()) + _no()
    program.judge("mknodat", bpf.argument(2) + fifo)
    leaving = bpf.give(refuse(errno.EINVAL))
    program.judge("renameat2", bpf.argument(4) + bpf.when_any(_LEAVING_DEVICE, leaving) + _yes())


def _sockets(program: Filter, *, network: Network, udp: bool) -> None:
    """Allow pairs of connected sockets, and other sockets only with a network.

    A pair of datagram sockets is refused: each can still send or connect to any socket with a path.
    """
    kind = bpf.argument(1) + bpf.masked(_SOCKET_TYPE)
    program.judge("socketpair", kind + bpf.one_of((_STREAM, _SEQPACKET), ALLOW, refuse()))
    if network == "none":
        program.answer(("socket", *_CONNECTING), refuse())
        return
    if network == "own":
        plain = kind + bpf.one_of((_STREAM, _DATAGRAM), ALLOW, refuse())
        known = bpf.argument(2) + _any_of(_PLAIN_PROTOCOLS, plain)
        domain = bpf.argument(0) + _any_of((_INET, _INET6), known)
        program.judge("socket", domain)
        return
    # the kernel binds a socket that listens unbound, and Landlock does not see it
    program.answer(("listen",), refuse())
    refused = (_RAW,) if udp else (_DATAGRAM, _RAW)
    kinds = [line for one in refused for line in bpf.when_equal(one, _no())]
    multipath = bpf.argument(2) + bpf.when_equal(_MPTCP, _no())
    internet = kind + kinds + multipath + _yes()
    # the C library queries the machine's addresses through netlink before name lookups
    netlink = bpf.argument(2) + bpf.when_equal(_ROUTE, _yes()) + _no()
    domain = bpf.argument(0) + bpf.when_equal(_NETLINK, netlink)
    domain += bpf.when_equal(_INET, internet) + bpf.when_equal(_INET6, internet)
    program.judge("socket", domain + _no())
    unsupported = bpf.give(refuse(errno.EOPNOTSUPP))
    for name, index in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        program.judge(name, bpf.argument(index) + bpf.when_any(_FAST_OPEN, unsupported) + _yes())


def _any_of(values: tuple[int, ...], block: list[bytes]) -> list[bytes]:
    """Return `block` if the value is one of these; otherwise refuse."""
    return [line for value in values for line in bpf.when_equal(value, block)] + _no()


def _set_id(program: Filter) -> None:
    """Refuse set-uid and set-gid files, which would also apply outside."""
    modes = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1}
    refused = {
        name: bpf.argument(index) + bpf.when_any(_SET_ID_BITS, _no()) + _yes()
        for name, index in (modes | {"open": 2, "openat": 3}).items()
    }
    for name in modes:
        program.judge(name, refused[name])
    for name, flags in (("open", 1), ("openat", 2)):
        program.judge(name, bpf.argument(flags) + bpf.when_any(_CREATING, refused[name]) + _yes())


def _signal_self_only(program: Filter, names: tuple[str, ...]) -> None:
    for name in names:
        program.judge(name, bpf.argument(0) + bpf.when_equal(_OWN_PID, _yes()) + _no())


def _placeholder() -> bytes:
    return struct.pack("<I", _OWN_PID)


def _yes() -> list[bytes]:
    return bpf.give(ALLOW)


def _no() -> list[bytes]:
    return bpf.give(refuse())


def guarded_calls() -> tuple[str, ...]:
    """Return the calls that change a file's mode, times or owner, for this machine."""
    return tuple(name for name in (*_METADATA, *_OWNER) if name in NUMBERS)
