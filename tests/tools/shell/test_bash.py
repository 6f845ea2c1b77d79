"""`bash` on scripted processes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import InvalidArguments
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessChunk
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.tools.shell.bash import BashArgs, bash
from tests.tools.calls import call, call_as, stream
from tests.tools.shell.scripted import ScriptedProcess, ScriptedProcesses

OUT = ProcessChunk("stdout", b"made\n")
ERR = ProcessChunk("stderr", b"warned\n")


def _context(ctx: ToolContext, process: ScriptedProcess) -> tuple[ToolContext, ScriptedProcesses]:
    processes = ScriptedProcesses(process)
    operations: Operations = replace(ctx.operations, processes=processes)
    return replace(ctx, bound_operations=operations), processes


@pytest.mark.requirement("OPS-04", "TST-03")
async def test_a_command_runs_in_a_plain_bash_of_the_operations_and_streams_its_output(ctx):
    context, processes = _context(ctx, ScriptedProcess((OUT, ERR)))
    called = await stream(bash, context, "bash", command="make", working_dir="src")
    data = {
        "stdout": "made\n",
        "stderr": "warned\n",
        "exit_code": 0,
        "timed_out": False,
        "truncated": False,
        "reason": "exited",
        "sandbox": {"level": "none", "layers": [], "missing": [], "kill": None},
    }
    assert [(spec.argv, spec.cwd) for spec in processes.specs] == [
        (("/bin/bash", "--noprofile", "--norc", "-c", "make"), "src")
    ]
    assert called.streamed == [Output("made\n", "stdout"), Output("warned\n", "stderr")]
    assert called.result == ToolResult.ok(
        data,
        text="made\nSTDERR:\nwarned\nExit code: 0",
        raw_result=RawResult("terminal", {"command": "make", **data}),
    )


async def test_a_command_that_fails_keeps_its_output_and_explains_its_status(ctx):
    context, _ = _context(ctx, ScriptedProcess((ERR,), code=127))
    result = await call(bash, context, command="nosuch")
    assert (result.success, result.code) == (False, "exit_nonzero")
    assert result.error == "The command failed. Exit code: 127 (command not found)"
    assert result.text == "STDERR:\nwarned\nExit code: 127 (command not found)"
    assert result.data["stderr"] == "warned\n"


@pytest.mark.requirement("SHL-02")
async def test_a_command_that_outlives_its_timeout_is_killed_and_its_output_kept(ctx):
    process = ScriptedProcess((OUT,), hangs=True)
    context, _ = _context(ctx, process)
    result = await call(bash, context, command="sleep 31", timeout=1)
    assert process.killed.is_set()
    assert (result.success, result.code) == (False, "timeout")
    assert result.error == "Timed out after 1 s: the command and all its processes were killed"
    assert (result.data["stdout"], result.data["timed_out"]) == ("made\n", True)
    assert result.data["exit_code"] is None


async def test_a_command_that_never_stops_printing_is_killed_too(ctx):
    process = ScriptedProcess((OUT,) * 1000)
    context, _ = _context(ctx, process)
    args = BashArgs.model_construct(**{**BashArgs(command="yes").model_dump(), "timeout": 0})
    results: list[Any] = [item async for item in bash.function(args, context)]  # type: ignore[union-attr]
    assert [item.code for item in results] == ["timeout"]


@pytest.mark.requirement("SHL-02")
def test_the_timeout_is_thirty_seconds_unless_the_call_says_otherwise():
    assert bash.validate(b'{"command": "ls"}').timeout == 30
    with pytest.raises(InvalidArguments, match="timeout must be <="):
        bash.validate(b'{"command": "ls", "timeout": 601}')


async def test_a_cancelled_call_kills_what_it_started(ctx):
    process = ScriptedProcess((OUT,), hangs=True)
    context, _ = _context(ctx, process)
    running = asyncio.create_task(call(bash, context, command="sleep 600"))
    async with asyncio.timeout(60):
        await process.waiting.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert process.killed.is_set()


async def test_long_output_is_streamed_whole_and_shortened_in_the_middle_for_the_model(ctx):
    chunks = [ProcessChunk("stdout", f"{number:07}\n".encode()) for number in range(4000)]
    chunks += [ProcessChunk("stderr", b"e" * 20_000)]
    context, _ = _context(ctx, ScriptedProcess(tuple(chunks)))
    called = await stream(bash, context, "bash", command="seq")
    text = called.result.for_model()
    assert sum(len(output.text) for output in called.streamed) == 32_000 + 20_000
    assert len(text) <= 10_000
    assert text.startswith("0000000\n")
    assert "0003999" in text
    assert "characters omitted" in text
    assert "e\nExit code: 0\nAll 52000 bytes: `process` action log, process_id proc_" in text
    assert called.result.data["truncated"] is True


@pytest.mark.parametrize("name", ["terminal", "shell", "BashTool"])
async def test_other_names_and_argument_names_reach_the_same_tool(ctx, name):
    context, processes = _context(ctx, ScriptedProcess((OUT,)))
    result = await call_as(name, bash, context, cmd="make", workdir="src")
    assert result.data["stdout"] == "made\n"
    assert processes.specs[0].argv[-1] == "make"
    assert processes.specs[0].cwd == "src"


@pytest.mark.requirement("SHL-02")
async def test_exec_answers_with_one_text(ctx):
    context, _ = _context(ctx, ScriptedProcess((OUT, ERR), code=3))
    result = await call_as("exec", bash, context, command="make")
    assert result.data == "made\nSTDERR:\nwarned\nExit code: 3"
    assert (result.success, result.code) == (False, "exit_nonzero")


@pytest.mark.parametrize(("given", "seconds"), [(120_000, 120), (1, 1), (700, 1), (10**7, 600)])
def test_bash_tool_takes_a_large_timeout_as_milliseconds(given, seconds):
    adapt = next(alias.adapt for alias in bash.aliases if alias.name == "BashTool")
    assert adapt is not None
    adapted = adapt({"command": "ls", "timeout": given, "description": "list"})
    assert adapted == {"command": "ls", "timeout": seconds}


async def test_a_command_with_a_nul_character_is_refused(ctx):
    with pytest.raises(InvalidArguments, match=r"command: .*NUL"):
        await call(bash, ctx, command="ls\x00")
