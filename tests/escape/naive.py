"""A runner that confines nothing: what a careless service would do.

Attempts are shown to work against it. It stands behind a shell, so that one which ends its
parent does not end the tests.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO

from app.operations.protocols.sandbox import Level
from tests.escape.attempt import Attempt, Limits, Outcome
from tests.escape.relay import Relay
from tests.escape.source import text_of
from tests.escape.tree import descendants, marked
from tests.escape.world import World

_KEPT = 4 << 20
_GIVE_UP_S = 1.0  # beyond its limit, which nothing here enforces
_REPORT = 3


class NaiveRunner:
    """Everything inherited, nothing limited, files collected through links."""

    async def run(self, attempt: Attempt, level: Level, world: World, limits: Limits) -> Outcome:
        if attempt.category != "hosts":
            return await asyncio.to_thread(_run, attempt, level, world, limits)
        relay = Relay(world)
        world.relay = relay.port
        try:
            return await asyncio.to_thread(_run, attempt, level, world, limits)
        finally:
            relay.close()

    async def rest(self) -> None:
        """Nothing goes on between its runs."""


def _run(attempt: Attempt, level: Level, world: World, limits: Limits) -> Outcome:
    script = world.ws / (".run.sh" if attempt.shell else ".run.py")
    script.write_text(text_of(attempt, level, world, limits, helped=False))
    program = "/bin/bash" if attempt.shell else sys.executable
    report_read, report_write = os.pipe()
    os.set_inheritable(report_write, True)
    launch = f'exec {_REPORT}>&{report_write}; "$0" "$@"; exit $?'
    started = time.monotonic()
    process = subprocess.Popen(
        ["/bin/bash", "-c", launch, program, str(script)],
        cwd=world.ws,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        close_fds=False,
        start_new_session=True,
    )
    os.close(report_write)
    assert process.stdout
    assert process.stderr
    streams = _Kept(process.stdout), _Kept(process.stderr)
    overran = False
    try:
        process.wait(limits.wall_s + _GIVE_UP_S)
    except subprocess.TimeoutExpired:
        overran = True
    took = time.monotonic() - started
    for stream in streams:
        stream.join(0.3)
    return Outcome(
        stdout=bytes(streams[0].kept),
        stderr=bytes(streams[1].kept),
        delivered=streams[0].count + streams[1].count,
        fault=_read_report(report_read),
        files=_collect(world),
        wall_s=took,
        overran=overran,
    )


class _Kept(threading.Thread):
    """The beginning of a stream, and how much there was."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.kept = bytearray()
        self.count = 0
        self.start()

    def run(self) -> None:
        with self._stream:
            while data := os.read(self._stream.fileno(), 1 << 16):
                self.count += len(data)
                self.kept += data[: _KEPT - len(self.kept)]


def _read_report(descriptor: int) -> str | None:
    """What is wrong with the report, which is believed to be JSON."""
    os.set_blocking(descriptor, False)
    with os.fdopen(descriptor, "rb") as report:
        data = report.read() or b""
    try:
        json.loads(data or b"{}")
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__} while reading the report"
    return None


def _collect(world: World) -> tuple[bytes, ...]:
    """Every file of the workspace, as a link says where it is."""
    found = []
    for path in list(world.ws.rglob("*"))[:200]:
        with suppress(OSError):
            if path.is_file() and path.stat().st_size < _KEPT and not path.name.startswith("."):
                found.append(path.read_bytes())
    return tuple(found)


def end_all(before: set[int], token: str) -> None:
    """End what a run has left: only processes that it started itself."""
    deadline = time.monotonic() + 5
    step = signal.SIGSTOP  # first, or those who fork faster than they are ended would win
    while time.monotonic() < deadline:
        left = marked(token) | (descendants(os.getpid()) - before)
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, step)
        step = signal.SIGKILL if step == signal.SIGSTOP else signal.SIGSTOP
