"""Server process of `tests.support.forked`: it has loaded Tollgate, and forks every program."""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import secrets
import select
import signal
import socket
import sys
import termios
import threading
import traceback
from contextlib import suppress
from typing import Any, TextIO

import httpcore2
import typer.main

from app.core import ids
from tests.support.once import replacements

# Standard streams of the program, and the descriptor for its exit code.
DESCRIPTORS = 4
LONGEST_REQUEST = 1 << 20
# Modules loaded lazily by programs; a model's client takes longer than all of Tollgate.
LOADED_LATER = (
    *("aiosqlite", "anthropic", "anyio._backends._asyncio", "docstring_parser", "encodings.idna"),
    *("fastapi.telemetry._runtime", "tests.execution.lab", "uvicorn.lifespan.on"),
    *("uvicorn.protocols.http.httptools_impl", "uvloop"),
)


def main() -> None:
    """Fork for every request on the socket, and report how each program ended."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    _load()
    ends: dict[int, tuple[int, int]] = {}
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor in ends:
                poll.unregister(descriptor)
                _say_end(descriptor, *ends.pop(descriptor))
                continue
            message, descriptors, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, DESCRIPTORS)
            if not message:
                return
            pid = os.fork()
            if pid == 0:
                _become(json.loads(message), descriptors)
            *streams, end = descriptors
            for stream in streams:
                os.close(stream)
            os.write(end, f"{pid}\n".encode())
            ended = os.pidfd_open(pid)
            ends[ended] = (pid, end)
            poll.register(ended, select.POLLIN)


def _load() -> None:
    import app

    for found in pkgutil.walk_packages(app.__path__, "app."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for name in LOADED_LATER:
        importlib.import_module(name)
    _do_once()
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1, "a fork has one thread only"


def _do_once() -> None:
    """Do what every program would do at its start: find its commands, read certificates."""
    from app.cli.main import app as commands

    for name, replacement in replacements().items():
        module, _, attribute = name.rpartition(".")
        setattr(sys.modules[module], attribute, replacement)
    typer.main.get_command(commands)
    httpcore2.default_ssl_context()


def _say_end(ended: int, pid: int, end: int) -> None:
    os.close(ended)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError):  # without a waiter
        os.write(end, f"{code}\n".encode())
    os.close(end)


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Run the program to its end."""
    code = 1
    try:
        os.setsid()
        for number, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, number)
        os.closerange(3, max(descriptors) + 1000)
        if request["terminal"]:
            # Ctrl-C arrives as a signal.
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin, sys.stdout, sys.stderr = _streams()
        sys.argv = [request["module"], *request["words"]]
        gc.enable()
        ids._PROCESS = secrets.token_hex(6)  # every process has a separate one
        code = _run(request["module"], request["before"])
        threading._shutdown()  # type: ignore[attr-defined]  # as an interpreter does at its end
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _run(module: str, before: str) -> int:
    try:
        exec(before, {"__name__": "sitecustomize"})
        runpy.run_module(module, run_name="__main__", alter_sys=False)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
        return 1
    return 0


def _streams() -> tuple[TextIO, TextIO, TextIO]:
    """Return the three streams that Python opens at its start."""
    interactive = os.isatty(1)
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    return (
        io.TextIOWrapper(open(0, "rb", closefd=False), "utf-8"),
        io.TextIOWrapper(
            open(1, "wb", closefd=False),
            "utf-8",
            line_buffering=interactive,
            write_through=unbuffered,
        ),
        io.TextIOWrapper(
            open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True
        ),
    )


if __name__ == "__main__":
    main()
