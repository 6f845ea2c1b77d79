"""What every implementation of `ProcessOperations` does, scripted or real."""

from __future__ import annotations

import pytest

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.fakes.workspace import fake_workspace
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessChunk, ProcessExit, ProcessSpec, Terminal

pytestmark = pytest.mark.requirement("OPS-04", "OPS-06")
SCRIPT = ("sh", "-c", "echo out; echo err >&2; exit 3")
READER = ("cat",)


def scripted(spec: ProcessSpec):
    if spec.argv == READER:
        return [], ProcessExit(0)
    if spec.argv != SCRIPT:
        raise ToolFailed("Program not found", code="program_not_found")
    chunks = [ProcessChunk("stdout", b"out\n"), ProcessChunk("stderr", b"err\n")]
    return chunks, ProcessExit(3)


@pytest.fixture(params=["local", "sandboxed", "memory"])
def operations(
    request: pytest.FixtureRequest, local: Operations, sandboxed: Operations
) -> Operations:
    known = {"local": local, "sandboxed": sandboxed, "memory": fake_workspace(script=scripted)}
    return known[request.param]


async def test_output_and_exit_code_come_back(operations: Operations):
    collected = {"stdout": b"", "stderr": b""}

    async with operations.processes.open(ProcessSpec(SCRIPT)) as process:
        async for chunk in process.output():
            collected[chunk.stream] += chunk.data
        ended = await process.wait()

    assert collected == {"stdout": b"out\n", "stderr": b"err\n"}
    assert (ended.code, ended.signal, ended.reason) == (3, None, "exited")


async def test_waiting_and_killing_need_nobody_to_read(operations: Operations):
    async with operations.processes.open(ProcessSpec(SCRIPT)) as process:
        assert (await process.wait()).code == 3
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


@pytest.mark.parametrize(
    "spec", [ProcessSpec(READER, interactive=True), ProcessSpec(READER, terminal=Terminal())]
)
async def test_input_is_taken_until_it_is_closed(operations: Operations, spec: ProcessSpec):
    async with operations.processes.open(spec) as process:
        await process.write(b"one\n")
        await process.close_input()
        await process.close_input()
        with pytest.raises(ToolFailed) as caught:
            await process.write(b"two\n")
        ended = await process.wait()

    assert caught.value.details["code"] == "input_closed"
    assert (ended.code, ended.reason) == (0, "exited")


async def test_a_process_that_is_not_interactive_takes_no_input(operations: Operations):
    async with operations.processes.open(ProcessSpec(SCRIPT)) as process:
        with pytest.raises(ToolFailed) as caught:
            await process.write(b"x")
        await process.close_input()

    assert caught.value.details["code"] == "input_closed"
