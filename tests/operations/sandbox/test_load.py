"""Two hundred programs at once, ended in every way: nothing is left, nothing grows."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ExitReason, ProcessLimits, ProcessSpec
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.kernel_probe import probe
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.status import judge
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.conftest import open_descriptors
from tests.operations.sandbox.procs import marker, with_marker

ORDINARY, CANCELLED, TIMED_OUT, FLOODING = 120, 50, 20, 10
_LIMIT_S = 300
_MOST_GROWTH_KIB = 200 << 10


@pytest.fixture(autouse=True)
def room_for_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def shell(script: str, wall_s: float | None = None) -> ProcessSpec:
    return ProcessSpec(("bash", "-c", script), limits=ProcessLimits(wall_s=wall_s))


async def ends(operations: Operations, spec: ProcessSpec) -> ExitReason:
    async with operations.processes.open(spec) as process:
        return (await process.wait()).reason


async def answers(operations: Operations, number: int) -> bool:
    spec = shell(f"echo {number}; exit {number % 7}")
    async with operations.processes.open(spec) as process:
        printed = b"".join([chunk.data async for chunk in process.output()])
        ended = await process.wait()
    return printed == f"{number}\n".encode() and ended.code == number % 7


async def cancelled(operations: Operations, mark: str) -> bool:
    started = asyncio.Event()

    async def use() -> None:
        script = f"setsid sleep {mark} & echo; sleep {mark}"
        async with operations.processes.open(shell(script)) as process:
            await anext(process.output())
            started.set()
            await process.wait()

    task = asyncio.create_task(use())
    await started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return task.cancelled()


def peak_kib() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.fixture(params=["as it is", "without namespaces"])
async def crowded(
    request: pytest.FixtureRequest, root: Path, tmp_path: Path
) -> AsyncIterator[Operations]:
    found = probe()
    left_out = {"namespaces"} if request.param == "without namespaces" else set[str]()
    status = judge(replace(found, layers=found.layers - left_out))
    async with (
        Sandbox(SandboxConfig(temporary=tmp_path / "private"), status=status) as sandbox,
        SandboxedWorkspace(root, sandbox=sandbox) as workspace,
    ):
        yield workspace.operations


@pytest.mark.requirement("OPS-04")
async def test_two_hundred_at_once_end_as_they_should(crowded: Operations):
    mark = marker()
    assert await answers(crowded, 0)
    descriptors, peak = open_descriptors(), await asyncio.to_thread(peak_kib)

    async with asyncio.timeout(_LIMIT_S), asyncio.TaskGroup() as group:
        slow = shell(f"sleep {mark} & sleep {mark}", wall_s=1)
        late = [group.create_task(ends(crowded, slow)) for _ in range(TIMED_OUT)]
        loud = [group.create_task(ends(crowded, shell("yes"))) for _ in range(FLOODING)]
        gone = [group.create_task(cancelled(crowded, mark)) for _ in range(CANCELLED)]
        fine = [group.create_task(answers(crowded, number)) for number in range(ORDINARY)]

    assert {task.result() for task in late} == {"timeout"}
    assert {task.result() for task in loud} == {"output"}
    assert all(task.result() for task in (*gone, *fine))
    assert with_marker(mark) == []
    assert open_descriptors() == descriptors
    assert await asyncio.to_thread(peak_kib) - peak < _MOST_GROWTH_KIB
