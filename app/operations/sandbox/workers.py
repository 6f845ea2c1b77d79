"""Interpreters of strict and standard, confined before they receive their code."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from typing import cast

from app.operations.local.environment import clean_environment
from app.operations.local.inputs import InputPipe
from app.operations.protocols.code import Strictness
from app.operations.protocols.processes import ProcessSpec
from app.operations.protocols.sandbox import LevelStatus
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.jail.job import Job, Policy, Work, encode
from app.operations.sandbox.pipes import JobPipes, open_pipes
from app.operations.sandbox.policies import WALL_S, pure_policy
from app.operations.sandbox.process import SandboxedProcess, launch
from app.operations.sandbox.zygote import Zygote

PYTHON = ProcessSpec(("python",))
WORK, SCRATCH = "work", "tmp"
_NOWHERE = "/nonexistent"

MAX_REPORT_BYTES = 1 << 20
_MAX_VALUE = 100_000
_MAX_ERROR = 2_000
_READ = 64 << 10


@dataclass(frozen=True, slots=True)
class Report:
    """`value` and `error` as in `CodeExit`."""

    value: str | None = None
    error: str | None = None


class ReportPipe:
    """Incremental reader of a report; owns the descriptor.

    A report above the limit is discarded, and its pipe closed.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._data = bytearray()
        self._over = False
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._readable)

    def finish(self) -> Report:
        """Return the report; call it once nothing writes any more."""
        while self._descriptor >= 0 and self._readable():
            pass
        self.close()
        return Report() if self._over else parse_report(bytes(self._data))

    def close(self) -> None:
        """Stop reading; may be called repeatedly."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _readable(self) -> bool:
        """Read available data; return whether more may follow."""
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return False
        self._over = len(self._data) + len(data) > MAX_REPORT_BYTES
        if self._over or not data:
            self.close()
            return False
        self._data += data
        return True


def parse_report(data: bytes) -> Report:
    """Parse a report; anything invalid gives an empty report."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return Report()
    if not isinstance(raw, dict):
        return Report()
    error = _text(raw.get("error"), _MAX_ERROR)
    return Report(
        value=_text(raw.get("value"), _MAX_VALUE),
        error=None if error is None else " ".join(error.split()),
    )


def _text(value: object, bound: int) -> str | None:
    if not isinstance(value, str):
        return None
    shown = value if len(value) <= bound else f"{value[: bound - 1]}…"
    return shown.encode("utf-8", "replace").decode()


@dataclass(slots=True)
class Worker:
    """Interpreter for one piece of code.

    Attributes:
        wall_s: its time limit in seconds.
    """

    process: SandboxedProcess
    report: ReportPipe
    wall_s: float
    work: int = -1

    def give(self, work: Work) -> None:
        """Send `work` to a parked worker."""
        self.process.go()
        InputPipe(self.work, encode(work))
        self.work = -1

    async def close(self) -> None:
        """End it with all its processes."""
        try:
            await self.process.close()
        finally:
            self.report.close()
            if self.work >= 0:
                os.close(self.work)
                self.work = -1


async def park(
    zygote: Zygote, config: SandboxConfig, status: LevelStatus, level: Strictness
) -> Worker:
    """Start an interpreter that confines itself and waits.

    Raises:
        ToolFailed: code `sandbox_unavailable`.
    """
    policy = pure_policy(config, status, level, WALL_S[level], extra=False)
    return await start_worker(zygote, python_job(policy, None))


def python_job(policy: Policy, work: Work | None, folder: str | None = None) -> Job:
    """Return a job that runs `work`, or waits for it.

    Args:
        folder: private folder that contains `WORK` and `SCRATCH`; strict and standard have none.
    """
    home = _NOWHERE if folder is None else f"{folder}/{SCRATCH}"
    return Job(
        policy=policy,
        root="/" if folder is None else f"{folder}/{WORK}",
        env=clean_environment(home, {}, None if folder is None else home),
        work=work,
        parked=work is None,
        service_pid=os.getpid(),
    )


async def start_worker(zygote: Zygote, job: Job) -> Worker:
    """Start a Python job.

    Raises:
        ToolFailed: code `sandbox_unavailable`.
    """
    pipes = open_pipes(parked=job.parked, python=True)
    report = ReportPipe(pipes.report)
    try:
        level = cast("Strictness", job.policy.level)
        process = await launch(zygote, job, pipes, PYTHON, level)
    except BaseException:
        report.close()
        _close(pipes)
        raise
    wall_s = job.policy.wall_s or 0.0
    return Worker(process, report, wall_s, pipes.work)


def _close(pipes: JobPipes) -> None:
    if pipes.work >= 0:
        os.close(pipes.work)
