"""`tollgate` in a separate process, already loaded.

A fork of a process that has loaded Tollgate takes a fraction of a new interpreter's time and is
equivalent otherwise: arguments, variables, streams, signals and exit code. Tests of the
interpreter's start must not use it.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.support.source import ROOT

PATIENCE_S = 60
PIPE = subprocess.PIPE


class Forked:
    """Running program, with the parts of `subprocess.Popen` used by tests."""

    def __init__(self, end: int, words: Sequence[str], streams: dict[str, IO[str]]) -> None:
        self._end = os.fdopen(end, "rb", buffering=0)
        self._reading = threading.Lock()
        self._words = words
        self._streams = streams
        self.pid = int(self._end.readline())
        self.returncode: int | None = None

    @property
    def stdout(self) -> IO[str]:
        """Return its standard output, which must be a pipe."""
        return self._streams["stdout"]

    def poll(self) -> int | None:
        """Return the exit code, if it has ended."""
        return self._ended(0)

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Wait for the end; return the exit code.

        Raises:
            TimeoutExpired: it does not end.
        """
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(["tollgate", *self._words], timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, text: str = "", timeout: float = PATIENCE_S) -> tuple[str, str]:
        """Write and read everything, wait for the end, and return both outputs.

        Raises:
            TimeoutExpired: it does not end; it is killed.
        """
        killing = threading.Timer(timeout, self.kill)
        killing.start()
        try:
            with ThreadPoolExecutor(max_workers=3) as threads:
                threads.submit(_write, self._streams.get("stdin"), text)
                said = [
                    threads.submit(_read, self._streams.get(name)) for name in ("stdout", "stderr")
                ]
        finally:
            ended_by_itself = killing.is_alive()
            killing.cancel()
        self.wait(timeout)
        if not ended_by_itself:
            raise subprocess.TimeoutExpired(["tollgate", *self._words], timeout)
        return said[0].result(), said[1].result()

    def _ended(self, timeout: float) -> int | None:
        with self._reading:
            if self.returncode is None and select.select([self._end], [], [], timeout)[0]:
                self.returncode = int(self._end.readline())
                self._end.close()
            return self.returncode


def start(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    module: str = "app.cli",
    before: str = "",
    terminal: int | None = None,
    **streams: int,
) -> Forked:
    """Start `tollgate` with these words, or another module as a program.

    Omitted streams are those of the tests. `before` is code that Python runs first, like a
    `sitecustomize`; `terminal` is used for all three streams, and as the program's own terminal.
    """
    ends: list[int] = []
    pipes: dict[str, IO[str]] = {}
    close: list[int] = []
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        wanted = streams.get(name, number) if terminal is None else terminal
        if wanted == subprocess.PIPE:
            read, write = os.pipe()
            wanted, ours = (read, write) if name == "stdin" else (write, read)
            pipes[name] = os.fdopen(ours, "w" if name == "stdin" else "r", encoding="utf-8")
            close.append(wanted)
        elif wanted == subprocess.DEVNULL:
            wanted = os.open(os.devnull, os.O_RDWR)
            close.append(wanted)
        ends.append(wanted)
    end, said = os.pipe()
    close.append(said)
    request: dict[str, Any] = {
        "module": module,
        "words": words,
        "cwd": str(cwd),
        "environment": dict(environment),
        "before": before,
        "terminal": terminal is not None,
    }
    with _SENDING:
        socket.send_fds(_server(), [json.dumps(request).encode()], [*ends, said])
    for descriptor in close:
        os.close(descriptor)
    return Forked(end, words, pipes)


def run(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: str = "",
    before: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run `tollgate` to its end, on pipes."""
    program = start(
        words,
        cwd=cwd,
        environment=environment,
        before=before,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    stdout, stderr = program.communicate(stdin)
    return subprocess.CompletedProcess(list(words), program.wait(), stdout, stderr)


_SENDING = threading.Lock()


@cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TOLLGATE_", "ANTHROPIC_", "COV_", "PYTHON"))
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fork_server", str(theirs.fileno())],
        cwd=ROOT,
        env=kept,
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _write(stream: IO[str] | None, text: str) -> None:
    if stream is not None:
        try:
            with stream:
                stream.write(text)
        except BrokenPipeError:
            pass  # It does not read its input.


def _read(stream: IO[str] | None) -> str:
    if stream is None or stream.closed:
        return ""
    with stream:
        return stream.read()
