"""What every implementation of `CodeOperations` does, scripted or real."""

from __future__ import annotations

import pytest

from app.core.errors import ToolFailed
from app.operations.fakes.workspace import FakeCode, ScriptedRun, fake_workspace
from app.operations.protocols.code import CodeExit, CodeSpec, Strictness
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessChunk, ProcessExit

pytestmark = pytest.mark.requirement("OPS-04", "OPS-06")
CODE = "print('hello')\n6 * 7"
LEVELS: tuple[Strictness, ...] = ("lenient", "standard", "strict")


def scripted(_: CodeSpec) -> ScriptedRun:
    return ScriptedRun((ProcessChunk("stdout", b"hello\n"),), CodeExit(ProcessExit(0), value="42"))


@pytest.fixture(params=["sandboxed", "memory"])
def operations(request: pytest.FixtureRequest, sandboxed: Operations) -> Operations:
    if request.param == "memory":
        return fake_workspace(code=FakeCode(scripted))
    return sandboxed


@pytest.mark.parametrize("level", LEVELS)
async def test_output_and_value_come_back(operations: Operations, level: Strictness):
    async with operations.code.open(CodeSpec(CODE, level, 10)) as running:
        printed = b"".join([chunk.data async for chunk in running.output()])
        ended = await running.wait()

    assert printed == b"hello\n"
    assert (ended.exit.code, ended.value, ended.error) == (0, "42", None)
    assert (ended.files, ended.files_left_out) == ((), 0)


async def test_waiting_needs_nobody_to_read_and_can_be_repeated(operations: Operations):
    async with operations.code.open(CodeSpec(CODE, "standard", 10)) as running:
        assert (await running.wait()).value == "42"
        assert (await running.wait()).value == "42"


@pytest.mark.parametrize("level", LEVELS)
def test_a_workspace_without_a_sandbox_runs_no_python(local: Operations, level: Strictness):
    with pytest.raises(ToolFailed) as caught:
        local.code.open(CodeSpec(CODE, level, 10))

    assert caught.value.details["code"] == "sandbox_unavailable"
