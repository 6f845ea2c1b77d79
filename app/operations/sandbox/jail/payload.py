"""Payload process: confines itself, reports it, and becomes the untrusted program."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import termios
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from app.operations.sandbox.jail import folder
from app.operations.sandbox.jail.confine import JailEnvironment, confine
from app.operations.sandbox.jail.descriptors import Wires, close_all_but, place, say
from app.operations.sandbox.jail.job import Job, Work, decode_work
from app.operations.sandbox.jail.python import preload
from app.operations.sandbox.jail.python import run as python

_REPORT, _WORK, _CONFIRM, _GUARD = 3, 4, 5, 6
_NOT_FOUND, _NOT_EXECUTABLE, _FAILED = 127, 126, 1
_READ_BYTES = 1 << 20
_NICE = 10  # the service answers first


def become(job: Job, wires: Wires, confirm: int, around: JailEnvironment) -> NoReturn:
    """Confine this process, write `{"layers": […]}` or `{"error": …}` to `confirm`, and run.

    Python's report is descriptor 3; no other descriptor above 2 is open then.
    """
    status, runs = _FAILED, False
    try:
        _take_descriptors(wires, confirm, around)
        layers = _confined(job, around)
        run = _program(job) if job.argv else _python(job, wires)
        runs = True
        say(_CONFIRM, layers=layers)
        os.close(_CONFIRM)
        status = run()
    except BaseException as error:  # noqa: BLE001 - the last thing this process does
        if runs:
            traceback.print_exc()
        else:  # nothing may run unconfined
            say(_CONFIRM, error=str(error) or type(error).__name__)
    os._exit(status & 0xFF)


def _take_descriptors(wires: Wires, confirm: int, around: JailEnvironment) -> None:
    optional = {_REPORT: wires.report, _WORK: wires.work, _GUARD: around.guard}
    wanted = {0: wires.stdin, 1: wires.stdout, 2: wires.stderr, _CONFIRM: confirm}
    wanted |= {number: given for number, given in optional.items() if given is not None}
    place(wanted)
    close_all_but(tuple(wanted))
    if wires.report is not None:
        os.set_inheritable(_REPORT, False)


def _confined(job: Job, around: JailEnvironment) -> list[str]:
    """Run all steps between the fork and the untrusted code."""
    if job.terminal:  # it must lead a session; others stay in the zygote's low-priority session
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    else:
        os.setpgid(0, 0)
    os.nice(_NICE)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder.enter(job.root, job.cwd)
    os.environ.clear()
    os.environ.update(job.env)
    if job.work is not None:
        # if nothing can be opened later, they must be loaded before
        modules = () if job.policy.forks else sorted(job.work.modules)
        preload.add_packages(modules, job.work.paths)
    guard = None if around.guard is None else _GUARD
    return confine(job.policy, replace(around, terminal=job.terminal, guard=guard), os.getpid())


def _program(job: Job) -> Callable[[], int]:
    argv = job.argv or ()

    def run() -> int:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execve(argv[0], argv, job.env)  # noqa: S606 - this is what it is for
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE

    return run


def _python(job: Job, wires: Wires) -> Callable[[], int]:
    report = None if wires.report is None else _REPORT
    level = job.policy.level

    def run() -> int:
        work = job.work if job.work is not None else _await_work()
        if work is None:
            return 0
        execute = python.run
        # the code finds neither these modules nor their folder
        for name in [name for name in sys.modules if name.partition(".")[0] == "app"]:
            del sys.modules[name]
        return execute(work.code, level, frozenset(work.modules), report)

    return run


def _await_work() -> Work | None:
    """Return the work of a parked process; None if it is released without work."""
    parts = []
    while part := os.read(_WORK, _READ_BYTES):
        parts.append(part)
    os.close(_WORK)
    if not parts:
        return None
    return decode_work(json.loads(b"".join(parts).decode("utf-8", "surrogatepass")))
