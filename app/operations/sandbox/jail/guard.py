"""Metadata guard: modes, times and owners change only where the tree may write.

Landlock does not mediate chmod, utime and chown, and seccomp cannot see paths. These calls are
therefore passed to the supervisor, which opens the target itself, checks the inode's location, and
acts on the descriptor: swapping a path meanwhile has no effect.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from app.operations.sandbox.jail import filters, kernel, seccomp
from app.operations.sandbox.jail.numbers import NUMBERS

_RECEIVE, _SEND, _STILL_VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTIFICATION = struct.Struct("<QIIiIQ6Q")
_ANSWER = struct.Struct("<QqiI")
_EMPTY_PATH, _NO_FOLLOW = 0x1000, 0x100
_NO_MAGIC_LINKS = 0x02
_PATH_BYTES = 4096
_PAGE = 4096
_MODE_BITS = 0o1777  # never set-uid, never set-gid
_UNCHANGED = -1
_NOW, _OMIT = 0x3FFFFFFF, 0x3FFFFFFE
_OWN_DESCRIPTOR = re.compile(rb"/proc/(?:self|thread-self|(\d+))/fd/(\d+)")


def install(channel: int) -> None:
    """Pass this process's metadata calls to the reader of the socket `channel`.

    The socket is closed.

    Raises:
        OSError: as the kernel answers.
    """
    listener = seccomp.install_with_listener(filters.notifying(filters.guarded_calls()))
    try:
        with socket.socket(fileno=channel) as sender:
            socket.send_fds(sender, [b"g"], [listener])
    finally:
        os.close(listener)


@dataclass(frozen=True, slots=True)
class _Syscall:
    """Positions of a call's arguments; None for missing ones.

    Attributes:
        folder, path, flags: index of the argument.
        follow: whether links are followed, unless `flags` say otherwise.
        value: index of the new value: a mode, a pointer to times, user and group.
        change: applies the values from there on to the target.
    """

    change: Callable[[str, int, Sequence[int]], None]
    value: int
    folder: int | None = None
    path: int | None = None
    flags: int | None = None
    follow: bool = True


class Guard:
    """Answers the calls that arrive at `listener`, for trees that may write in `folders`."""

    def __init__(self, listener: int, folders: Sequence[str]) -> None:
        self.listener = listener
        self._folders = tuple(os.path.realpath(folder) for folder in folders)
        self._calls = {NUMBERS[name]: call for name, call in _CALLS.items() if name in NUMBERS}

    def answer(self) -> None:
        """Answer one call; safe if its caller has ended."""
        buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, buffer)
        except OSError:
            return
        identity, pid, _, number, _, _, *arguments = _NOTIFICATION.unpack(buffer)
        try:
            self._act(identity, pid, self._calls[number], arguments)
            failure = 0
        except OSError as error:
            failure = error.errno or errno.EPERM
        except (KeyError, ValueError, OverflowError, struct.error):
            failure = errno.EINVAL
        try:
            fcntl.ioctl(self.listener, _SEND, _ANSWER.pack(identity, 0, -failure, 0))
        except OSError:
            return  # the caller was killed meanwhile

    def _act(self, identity: int, pid: int, call: _Syscall, arguments: list[int]) -> None:
        with ExitStack() as opened:
            memory = _keep(opened, os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC))
            target = _keep(opened, _target(opened, pid, memory, call, arguments))
            # all of this belonged to the caller, not to a later process with its number
            fcntl.ioctl(self.listener, _STILL_VALID, struct.pack("Q", identity))
            self._require_inside(target)
            call.change(f"/proc/self/fd/{target}", memory, arguments[call.value :])

    def _require_inside(self, target: int) -> None:
        real = os.readlink(f"/proc/self/fd/{target}")  # noqa: PTH115 - needed as text
        if not any(real == folder or real.startswith(f"{folder}/") for folder in self._folders):
            raise PermissionError(errno.EPERM, "outside the writable folders")


def _keep(opened: ExitStack, descriptor: int) -> int:
    opened.callback(os.close, descriptor)
    return descriptor


def _target(opened: ExitStack, pid: int, memory: int, call: _Syscall, arguments: list[int]) -> int:
    """Return the inode that the call refers to, as an O_PATH descriptor."""
    folder = kernel.AT_FDCWD
    if call.folder is not None:
        folder = ctypes.c_int(arguments[call.folder] & 0xFFFFFFFF).value
    flags = 0 if call.flags is None else arguments[call.flags]
    pointer = 0 if call.path is None else arguments[call.path]
    path = _string(memory, pointer) if pointer else b""
    if pointer and not path and not flags & _EMPTY_PATH:
        raise FileNotFoundError(errno.ENOENT, "empty path")
    own = _OWN_DESCRIPTOR.fullmatch(path)  # C libraries' name of a descriptor
    if own and own[1] in (None, str(pid).encode()):
        return _open_theirs(pid, f"fd/{int(own[2])}")
    where = "cwd" if folder == kernel.AT_FDCWD else f"fd/{folder}"
    base = _open_theirs(pid, where)
    if not path:
        return base
    _keep(opened, base)
    return _open_at(base, path, follow=call.follow and not flags & _NO_FOLLOW)


def _open_theirs(pid: int, name: str) -> int:
    return os.open(f"/proc/{pid}/{name}", os.O_PATH | os.O_CLOEXEC)


def _open_at(base: int, path: bytes, *, follow: bool) -> int:
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    how = struct.pack("QQQ", flags, 0, _NO_MAGIC_LINKS)
    try:
        return kernel.syscall("openat2", base, path, how, len(how))
    except OSError as error:
        if error.errno == errno.ELOOP:  # a magic link, which would be the supervisor's own
            raise PermissionError(errno.EPERM, "a link of /proc") from None
        raise


def _string(memory: int, address: int) -> bytes:
    """Read page by page: the string may end just before unmapped memory."""
    text = b""
    while len(text) < _PATH_BYTES and b"\0" not in text:
        here = address + len(text)
        part = os.pread(memory, _PAGE - here % _PAGE, here)
        if not part:
            raise OSError(errno.EFAULT, "bad address")
        text += part
    path, end, _ = text.partition(b"\0")
    if not end:
        raise OSError(errno.ENAMETOOLONG, "path too long")
    return path


def _change_mode(target: str, _memory: int, values: Sequence[int]) -> None:
    os.chmod(target, values[0] & _MODE_BITS)  # noqa: PTH101 - a descriptor, not a path


def _change_owner(target: str, _memory: int, values: Sequence[int]) -> None:
    """Allow only the present owner, as ordinary users may and root's tar requests."""
    uid, gid = (ctypes.c_int(value & 0xFFFFFFFF).value for value in values[:2])
    if uid not in (_UNCHANGED, os.geteuid()) or gid not in (_UNCHANGED, os.getegid()):
        raise PermissionError(errno.EPERM, "another owner")
    os.chown(target, uid, gid)


def _change_times(parse: Callable[[bytes], list[int]], size: int) -> Callable[..., None]:
    def change(target: str, memory: int, values: Sequence[int]) -> None:
        pointer = values[0]
        now = time.time_ns()
        status = os.stat(target)  # noqa: PTH116 - a descriptor, not a path
        given = parse(os.pread(memory, size, pointer)) if pointer else [_NOW, _NOW]
        old = (status.st_atime_ns, status.st_mtime_ns)
        times = [
            now if new == _NOW else was if new == _OMIT else new
            for new, was in zip(given, old, strict=True)
        ]
        os.utime(target, ns=(times[0], times[1]))

    return change


def _seconds(data: bytes) -> list[int]:
    return [second * 10**9 for second in struct.unpack("<qq", data)]


def _microseconds(data: bytes) -> list[int]:
    first, first_part, second, second_part = struct.unpack("<qqqq", data)
    return [first * 10**9 + first_part * 1000, second * 10**9 + second_part * 1000]


def _nanoseconds(data: bytes) -> list[int]:
    values = struct.unpack("<qqqq", data)
    pairs = ((values[0], values[1]), (values[2], values[3]))
    return [part if part in (_NOW, _OMIT) else second * 10**9 + part for second, part in pairs]


_CALLS = {
    "chown": _Syscall(_change_owner, 1, path=0),
    "lchown": _Syscall(_change_owner, 1, path=0, follow=False),
    "fchown": _Syscall(_change_owner, 1, folder=0),
    "fchownat": _Syscall(_change_owner, 2, folder=0, path=1, flags=4),
    "chmod": _Syscall(_change_mode, 1, path=0),
    "fchmod": _Syscall(_change_mode, 1, folder=0),
    "fchmodat": _Syscall(_change_mode, 2, folder=0, path=1),
    "fchmodat2": _Syscall(_change_mode, 2, folder=0, path=1, flags=3),
    "utime": _Syscall(_change_times(_seconds, 16), 1, path=0),
    "utimes": _Syscall(_change_times(_microseconds, 32), 1, path=0),
    "futimesat": _Syscall(_change_times(_microseconds, 32), 2, folder=0, path=1),
    "utimensat": _Syscall(_change_times(_nanoseconds, 32), 2, folder=0, path=1, flags=3),
}
