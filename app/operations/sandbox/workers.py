"""Interpreters of strict and standard, confined before they receive their code."""

from __future__ import annotations

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
from app.operations.sandbox.report import ReportPipe
from app.operations.sandbox.zygote import Zygote

PYTHON = ProcessSpec(("python",))
WORK, SCRATCH = "work", "tmp"
_NOWHERE = "/nonexistent"


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
