"""What every implementation of `ProcessOperations` does, scripted or real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.local.workspace import LocalWorkspace
from app.operations.memory.workspace import memory_workspace
from app.operations.protocols import Operations, ProcessChunk, ProcessExit, ProcessSpec

pytestmark = pytest.mark.requirement("OPS-04", "OPS-06")
SCRIPT = ("sh", "-c", "echo out; echo err >&2; exit 3")


def scripted(spec: ProcessSpec):
    if spec.argv != SCRIPT:
        raise ToolFailed("Program not found", code="program_not_found")
    chunks = [ProcessChunk("stdout", b"out\n"), ProcessChunk("stderr", b"err\n")]
    return chunks, ProcessExit(3)


@pytest.fixture(params=["local", "memory"])
def operations(request: pytest.FixtureRequest, root: Path) -> Iterator[Operations]:
    with ExitStack() as stack:
        if request.param == "memory":
            yield memory_workspace(script=scripted)
        else:
            yield stack.enter_context(LocalWorkspace(root)).operations


async def test_output_and_exit_code_come_back(operations: Operations):
    collected = {"stdout": b"", "stderr": b""}

    async with operations.processes.open(ProcessSpec(SCRIPT)) as process:
        async for chunk in process.output():
            collected[chunk.stream] += chunk.data
        ended = await process.wait()

    assert collected == {"stdout": b"out\n", "stderr": b"err\n"}
    assert ended == ProcessExit(3)


async def test_waiting_and_killing_need_nobody_to_read(operations: Operations):
    async with operations.processes.open(ProcessSpec(SCRIPT)) as process:
        assert await process.wait() == ProcessExit(3)
        await process.kill()
        await process.kill()


async def test_a_missing_program_is_named(operations: Operations):
    with pytest.raises(ToolFailed, match="Program not found") as caught:
        async with operations.processes.open(ProcessSpec(("no-such-program",))):
            pass

    assert caught.value.details["code"] == "program_not_found"


@pytest.mark.requirement("CTX-08")
async def test_a_working_directory_outside_is_refused(operations: Operations):
    for cwd in ("/etc", "../"):
        with pytest.raises(OutsideWorkspace):
            async with operations.processes.open(ProcessSpec(SCRIPT, cwd=cwd)):
                pass
    with pytest.raises(ToolFailed, match="File not found"):
        async with operations.processes.open(ProcessSpec(SCRIPT, cwd="gone")):
            pass
