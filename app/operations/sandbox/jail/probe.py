"""Probe of the kernel's layers, by installing each in a real child.

Run as a program it prints one line of JSON:

    {"layers": [names that work], "missing": {name: why not}, "landlock_abi": number,
     "kill": how a tree of many processes would be ended}

Its argument is the user that a root service would switch to, or `-`. If that user cannot read this
Python, `python` is missing, too.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from app.operations.sandbox.jail import (
    capabilities,
    filters,
    guard,
    kernel,
    landlock,
    layers,
    limits,
    namespaces,
    numbers,
    seccomp,
)
from app.operations.sandbox.jail.job import Policy
from app.operations.sandbox.jail.procfs import ProcFs

_MESSAGE_BYTES = 4096
_REFUSED_CALL = "ptrace"
_PATIENCE_MS = 5000
_PROCESSES = 64
_PYTHON = "python"
_Check = Callable[[], None]


class _Useless(Exception):
    """A layer was installed but had no effect."""


def main() -> None:
    """Print the result."""
    given = sys.argv[1] if len(sys.argv) > 1 else "-"
    print(json.dumps(probe(None if given == "-" else int(given))))  # noqa: T201 - its output


def probe(uid: int | None) -> dict[str, object]:
    """Install every layer once; `uid` is the module's argument."""
    missing: dict[str, str] = {}
    if not sys.platform.startswith("linux") or not numbers.SUPPORTED:
        why = f"{sys.platform} on {numbers.MACHINE} is not supported"
        missing = dict.fromkeys(layers.ALL, why)
    else:
        for name, check in _checks(uid).items():
            why_not = _in_child(check)
            if why_not is not None:
                missing[name] = why_not
        if uid is not None and layers.UID_DROP not in missing:
            no_python = _in_child(lambda: _read_python_as(uid))
            if no_python is not None:
                missing[_PYTHON] = no_python
    works = [name for name in layers.ALL if name not in missing]
    if uid is None and layers.UID_DROP in works:
        works.remove(layers.UID_DROP)
    return {
        "layers": works,
        "missing": missing,
        "landlock_abi": landlock.abi() if numbers.SUPPORTED else 0,
        "kill": _way_to_end(works),
    }


def _way_to_end(works: list[str]) -> str:
    if layers.NAMESPACES in works:
        return "pidns"
    return "landlock" if layers.LANDLOCK_SCOPE in works else "scan"


def _checks(uid: int | None) -> dict[str, _Check]:
    checks: dict[str, _Check] = {
        layers.NAMESPACES: _namespaces,
        layers.CAPABILITIES: capabilities.drop,
        layers.LIMITS: _limits,
        layers.NO_NEW_PRIVILEGES: _no_new_privileges,
        layers.LANDLOCK_FILES: _landlock_files,
        layers.LANDLOCK_NETWORK: _landlock_network,
        layers.LANDLOCK_SCOPE: _landlock_scope,
        layers.GUARD: _guard,
        layers.SECCOMP: _seccomp,
    }
    if uid is not None:
        checks[layers.UID_DROP] = lambda: _become(uid)
    return checks


def _in_child(check: _Check) -> str | None:
    """Run `check` in a child; return why it failed, or None."""
    ours, theirs = os.pipe()

    def tell() -> None:
        try:
            check()
        except Exception as error:
            os.write(theirs, (str(error) or type(error).__name__).encode()[:_MESSAGE_BYTES])
            raise

    pid = _fork(tell)
    os.close(theirs)
    said = os.read(ours, _MESSAGE_BYTES)
    os.close(ours)
    if os.waitpid(pid, 0)[1] == 0:
        return None
    return said.decode("utf-8", "replace") or "the check was killed"


def _must_fail(number: int, what: str, call: _Check) -> None:
    try:
        call()
    except OSError as error:
        if error.errno == number:
            return
        raise
    raise _Useless(f"{what} was still possible")


def _no_new_privileges() -> None:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def _limits() -> None:
    limits.apply(Policy("bash", ()), own_count=False)


def _become(uid: int) -> None:
    capabilities.become(uid)
    if os.getresuid() != (uid, uid, uid):
        raise _Useless("the user did not change")


def _read_python_as(uid: int) -> None:
    folder = os.path.dirname(os.__file__)  # noqa: PTH120
    capabilities.become(uid)
    try:
        os.listdir(folder)  # noqa: PTH208
    except OSError:
        raise _Useless(f"user {uid} cannot read this Python in {folder}") from None


def _landlock_files() -> None:
    _no_new_privileges()
    landlock.restrict(landlock.Domain(files=(("/usr", landlock.READ),)))
    os.listdir("/usr")  # noqa: PTH208
    _must_fail(errno.EACCES, "listing /", _list_root)


def _list_root() -> None:
    os.listdir("/")  # noqa: PTH208


def _trace() -> None:
    kernel.syscall(_REFUSED_CALL, 0)


def _landlock_network() -> None:
    _no_new_privileges()
    landlock.restrict(landlock.Domain(connect=()))
    with socket.socket(socket.AF_INET) as one:
        _must_fail(errno.EACCES, "connecting", lambda: one.connect(("127.0.0.1", 9)))


def _landlock_scope() -> None:
    _no_new_privileges()
    outside = os.getppid()
    landlock.restrict(landlock.Domain(scope=True))
    _must_fail(errno.EPERM, "signalling outside", lambda: os.kill(outside, 0))


def _seccomp() -> None:
    _no_new_privileges()
    seccomp.install(filters.ordinary(network="none", udp=False, owners=False))
    _must_fail(errno.EPERM, "tracing", _trace)


def _guard() -> None:
    """Check that calls arrive at a listener and are answered there."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryDirectory() as folder:
        pid = _fork(lambda: _call_the_guard(theirs, folder))
        theirs.close()
        _, listeners, _, _ = socket.recv_fds(ours, 1, 1)
        watcher = guard.Guard(listeners[0], [folder])
        waiting = select.poll()
        waiting.register(watcher.listener, select.POLLIN)
        while waiting.poll(_PATIENCE_MS)[0][1] & select.POLLIN:
            watcher.answer()
        _require_success(pid)


def _call_the_guard(theirs: socket.socket, folder: str) -> None:
    _no_new_privileges()
    guard.install(theirs.detach())
    mode = os.stat("/").st_mode & 0o7777  # noqa: PTH116 - it would change nothing
    _must_fail(errno.EPERM, "chmod outside", lambda: os.chmod("/", mode))  # noqa: PTH101
    os.chmod(folder, 0o700)  # noqa: PTH101


def _namespaces() -> None:
    """Check all namespaces, with a read-only view of the files."""
    uid, gid = os.geteuid(), os.getegid()
    with tempfile.TemporaryDirectory() as folder:
        pid = namespaces.fork(network=False, users=True)
        if pid == 0:
            _end_with(lambda: _write_in_namespaces(folder, uid, gid))
        _require_success(pid)


def _write_in_namespaces(folder: str, uid: int, gid: int) -> None:
    namespaces.settle(ProcFs(), uid, gid)
    namespaces.separate_files()
    namespaces.furnish([folder], _PROCESSES)
    inside = Path(folder) / "written"
    inside.touch()
    inside.unlink()
    _must_fail(errno.EROFS, "writing outside", Path("/usr/written").touch)


def _fork(check: _Check) -> int:
    pid = os.fork()
    if pid == 0:
        _end_with(check)
    return pid


def _end_with(check: _Check) -> NoReturn:
    status = 1
    try:
        check()
        status = 0
    finally:
        os._exit(status)


def _require_success(pid: int) -> None:
    if os.waitpid(pid, 0)[1] != 0:
        raise _Useless("it does not enforce its restrictions")
