"""A client of the zygote as small as it can be: it blocks, and reads everything to its end."""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import app
from app.operations.sandbox.jail.job import GO, MESSAGE, READY, Job, Policy, Work, encode

SOURCE = Path(app.__file__).resolve().parents[1]
_JAIL = Path("app/operations/sandbox/jail")
COMMON = (
    *("rlimits", "no_new_privs", "caps-dropped", "landlock-fs", "landlock-net"),
    *("landlock-scope", "seccomp"),
)
NAMESPACES = (*COMMON, "namespaces")
GUARD = (*COMMON, "metadata-guard")
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
ORDINARY = 65534
_PATIENCE_S = 150.0


def program(module: str, *arguments: str, uid: int | None = None) -> list[str]:
    """The command line of a program of `jail`, as another user where one is given."""
    source = str(SOURCE) if uid is None else readable_source()
    code = (
        f"import sys; sys.path.insert(0, {source!r}); "
        f"from app.operations.sandbox.jail.{module} import main; main()"
    )
    python, before = sys.executable, []
    if uid is not None:
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
        before = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    flags = ["-I", "-S", "-B", "-X", "frozen_modules=on", "-c"]
    return [*before, python, *flags, code, *arguments]


@cache
def readable_source() -> str:
    """A copy of `jail` that every user can read, wherever the tree itself is."""
    place = Path(tempfile.mkdtemp(prefix="jail-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    shutil.copytree(SOURCE / _JAIL, place / _JAIL, ignore=shutil.ignore_patterns("__pycache__"))
    for parent in list(_JAIL.parents)[:-1]:
        shutil.copy(SOURCE / parent / "__init__.py", place / parent)
    for folder in (place, *place.rglob("*")):
        folder.chmod(0o755 if folder.is_dir() else 0o644)
    return str(place)


@dataclass
class Result:
    """What came out of a run."""

    out: str
    err: str
    events: list[dict[str, Any]]
    report: dict[str, Any] | None

    @property
    def started(self) -> dict[str, Any]:
        return next(event for event in self.events if event["event"] == "started")

    @property
    def ended(self) -> dict[str, Any]:
        return next(event for event in self.events if event["event"] == "ended")


@dataclass
class Run:
    """A run under way; `leash` is -1 once it is let go."""

    streams: dict[str, int]
    leash: int
    work: int | None = None
    heard: dict[str, bytes] = field(default_factory=dict)

    def until(self, enough: Callable[[dict[str, bytes]], bool]) -> None:
        """Read until `enough` of the streams has come."""
        end = time.monotonic() + _PATIENCE_S
        while self.streams and not enough(self.heard):
            left = end - time.monotonic()
            assert left > 0, self.heard
            # Not `select`, which knows no descriptor above 1,023.
            poll = select.poll()
            for descriptor in self.streams.values():
                poll.register(descriptor, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000)}
            for name, descriptor in list(self.streams.items()):
                if descriptor in ready:
                    self._read(name, descriptor)

    def started(self) -> dict[str, Any]:
        """The event that it is confined."""
        self.until(lambda heard: b"\n" in heard.get("status", b""))
        event: dict[str, Any] = json.loads(self.heard["status"].splitlines()[0])
        return event

    def printed(self, text: str) -> None:
        """Wait until it has printed `text`."""
        self.until(lambda heard: text.encode() in heard.get("out", b""))

    def order(self, byte: bytes) -> None:
        os.write(self.leash, byte)

    def let_go(self) -> None:
        os.close(self.leash)
        self.leash = -1

    def give(self, work: Work) -> None:
        """Hand work to a parked run."""
        assert self.work is not None
        self.order(GO)
        os.write(self.work, encode(work))
        os.close(self.work)

    def finish(self) -> Result:
        """Everything, once all of it is over."""
        self.until(lambda _: False)
        if self.leash >= 0:
            self.let_go()
        lines = self.heard.get("status", b"").splitlines()
        report = self.heard.get("report")
        return Result(
            self.heard.get("out", b"").decode(errors="replace"),
            self.heard.get("err", b"").decode(errors="replace"),
            [json.loads(line) for line in lines],
            json.loads(report) if report else None,
        )

    def _read(self, name: str, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 16)
        self.heard[name] = self.heard.get(name, b"") + data
        if not data:
            os.close(descriptor)
            del self.streams[name]


class Inside:
    """A zygote and what it is asked to run."""

    def __init__(self, uid: int | None = None) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.uid = uid
        self.control = ours
        with theirs:
            self.process = subprocess.Popen(
                program("zygote", str(theirs.fileno()), uid=uid),
                pass_fds=(theirs.fileno(),),
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
            )
        assert ours.recv(16) == READY

    def close(self) -> None:
        self.control.close()
        self.process.wait(_PATIENCE_S)

    def start(self, job: Job, stdin: int | None = None) -> Run:
        memory = os.memfd_create("job")
        os.write(memory, encode(job))
        given = [memory, os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin]
        streams: dict[str, int] = {}
        for name in ("out", "err", "status"):
            streams[name], theirs = os.pipe()
            given.append(theirs)
        leash_theirs, leash = os.pipe()
        given.append(leash_theirs)
        work = None
        if job.parked:
            work_theirs, work = os.pipe()
            given.append(work_theirs)
        if job.argv is None:
            streams["report"], theirs = os.pipe()
            given.append(theirs)
        socket.send_fds(self.control, [MESSAGE], given)
        for descriptor in given:
            os.close(descriptor)
        return Run(streams, leash, work)

    def run(self, job: Job) -> Result:
        return self.start(job).finish()


def bash(script: str, root: Path, layers: tuple[str, ...], **policy: Any) -> Job:
    """A shell's job in the workspace `root`."""
    return Job(
        Policy("bash", layers, writable=(str(root),), **{"wall_s": 120.0, **policy}),
        str(root),
        argv=("/bin/bash", "-c", script),
        env={**ENVIRONMENT, "HOME": str(root), "TMPDIR": str(root)},
        service_pid=os.getpid(),
    )


def python(code: str | None, level: str, root: Path, layers: tuple[str, ...], **policy: Any) -> Job:
    """Python's job; parked when there is no code yet."""
    limits: dict[str, Any] = {"wall_s": 120.0, "file_bytes": 0, "memory_bytes": 1 << 30}
    if level == "lenient":
        limits = {"wall_s": 120.0, "writable": (str(root),)}
    return Job(
        Policy(level, layers, **{**limits, **policy}),
        str(root),
        env={**ENVIRONMENT, "HOME": str(root), "TMPDIR": str(root)},
        work=None if code is None else Work(code),
        parked=code is None,
        service_pid=os.getpid(),
    )


def processes_with(marker: str) -> list[int]:
    """Living processes whose command line holds `marker`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
            except OSError:
                continue
            if marker.encode() in line and state not in b"ZX":
                found.append(int(folder.name))
    return found
