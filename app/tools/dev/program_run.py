"""Run of a program to its end inside the workspace's sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.errors import ToolFailed
from app.operations.protocols.processes import (
    DISK_FULL,
    ProcessExit,
    ProcessLimits,
    ProcessOperations,
    ProcessSpec,
)

_MAX_STDERR = 8_000
NO_ENVIRONMENT: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Program:
    """Program to run, always without network.

    Attributes:
        wall_s: timeout in seconds.
        max_bytes: limit of its standard output; the program is ended at the limit.
    """

    argv: tuple[str, ...]
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=lambda: NO_ENVIRONMENT)
    stdin: bytes | None = None
    wall_s: float = 60
    max_bytes: int = 8 << 20


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """Output of a finished program; `truncated` if standard output exceeded the limit."""

    stdout: bytes
    stderr: str
    exit: ProcessExit
    truncated: bool

    @property
    def text(self) -> str:
        """Return standard output, with invalid UTF-8 replaced."""
        return self.stdout.decode("utf-8", "replace")


async def run(processes: ProcessOperations, program: Program) -> ProgramOutput:
    """Run `program` and wait.

    Raises:
        ToolFailed: `program_not_found`, `sandbox_unavailable`, or `timeout` and `limit_reached` if
            the sandbox ended it.
    """
    spec = ProcessSpec(
        argv=program.argv,
        cwd=program.cwd,
        env=program.env,
        stdin=program.stdin,
        limits=ProcessLimits(wall_s=program.wall_s),
        network=False,
    )
    kept = {"stdout": bytearray(), "stderr": bytearray()}
    limits = {"stdout": program.max_bytes, "stderr": _MAX_STDERR}
    truncated = False
    async with processes.open(spec) as process:
        async for chunk in process.output():
            room = limits[chunk.stream] - len(kept[chunk.stream])
            kept[chunk.stream] += chunk.data[:room]
            if chunk.stream == "stdout" and len(chunk.data) > room:
                truncated = True
                await process.kill()
                break
        ended = await process.wait()
    if not truncated:
        _check(program, ended)
    stderr = kept["stderr"].decode("utf-8", "replace")
    return ProgramOutput(bytes(kept["stdout"]), stderr, ended, truncated)


def _check(program: Program, ended: ProcessExit) -> None:
    if ended.reason == "exited":
        return
    name = program.argv[0].rpartition("/")[2]
    if ended.reason == "timeout":
        raise ToolFailed(
            f"{name} did not finish within {program.wall_s:g} s; request less per call",
            code="timeout",
            program=name,
        )
    if ended.reason == "disk_full":
        raise ToolFailed(
            f"{name} was stopped by the sandbox: {DISK_FULL}",
            code="disk_full",
            program=name,
        )
    raise ToolFailed(
        f"{name} was stopped by the sandbox: {ended.reason}; request less per call",
        code="limit_reached",
        program=name,
        reason=ended.reason,
    )
