"""What becomes of a tool's result, its output and its mistakes on the way to a frame."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from app.agents.delegation.frames import (
    MAX_FRAME,
    Execute,
    Executed,
    FromWorker,
    OutputFrame,
    Reported,
    encode,
)
from app.toolkit.context import Output as Piece
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import Tool, ToolArgs, tool
from app.workers.executions import Executions


class NoArgs(ToolArgs):
    """Takes nothing."""


@tool()
async def large(args: NoArgs, ctx: ToolContext) -> ToolResult:
    """Give more than goes into a frame."""
    return ToolResult.ok({"rows": ["\x01" * 1000] * 5000}, text="\x01" * 5_000_000)


@tool()
async def large_data(args: NoArgs, ctx: ToolContext) -> ToolResult:
    """Give a structure that is too large and no text."""
    return ToolResult.ok(["x" * MAX_FRAME])


@tool()
async def broken(args: NoArgs, ctx: ToolContext) -> ToolResult:
    """Fail as nobody expected."""
    raise KeyError("/home/somebody/secret")


@tool()
async def leaves(args: NoArgs, ctx: ToolContext) -> ToolResult:
    """Try to end the process."""
    raise SystemExit(0)


@tool()
async def odd(args: NoArgs, ctx: ToolContext) -> ToolResult:
    """Give what JSON cannot hold."""
    return ToolResult.ok({"path": Path("a"), "big": 2**70, "half": "\ud800", "none": float("nan")})


@tool()
async def speaks(args: NoArgs, ctx: ToolContext) -> AsyncIterator[str | Piece]:
    """Print something, and report on it."""
    yield "one"
    await ctx.progress("half", "there", current=1, total=2, unit="parts")
    yield Piece("two\ud800", "stderr")


async def run(*chosen: Tool) -> list[FromWorker]:
    """All that a worker with these tools says when each has been executed once."""
    said: list[FromWorker] = []
    ended = asyncio.Event()

    async def send(frame: FromWorker) -> None:
        encode(frame)
        said.append(frame)
        if sum(isinstance(one, Executed) for one in said) == len(chosen):
            ended.set()

    executions = Executions({one.name: one for one in chosen}, Services(), send)
    for one in chosen:
        frame = Execute(
            execution_id=one.name, tool=one.name, arguments={}, tool_call_id="c", operation_id="o"
        )
        executions.begin(frame, None)
    async with asyncio.timeout(60):
        await ended.wait()
    return said


async def executed(chosen: Tool) -> Executed:
    (frame,) = await run(chosen)
    assert isinstance(frame, Executed)
    return frame


async def test_a_result_that_is_too_large_is_cut_and_says_so():
    for chosen in (large, large_data):
        cut = await executed(chosen)
        assert cut.success
        assert (cut.data, cut.raw_result) == (None, None)
        assert cut.text is not None
        assert cut.text.endswith("was too large for a worker process and was truncated here.]")
        assert len(cut.text) > 1_000_000


async def test_of_a_mistake_in_a_tool_only_that_there_was_one_is_reported():
    for chosen in (broken, leaves):
        reported = await executed(chosen)
        assert (reported.success, reported.code, reported.data) == (False, "internal", None)
        assert "secret" not in encode(reported).decode()
        assert "Traceback" not in encode(reported).decode()


async def test_what_json_cannot_hold_is_replaced():
    reported = await executed(odd)
    assert reported.success
    assert reported.data["path"] == "a"
    assert reported.data["none"] == "nan"


async def test_output_and_progress_go_out_as_they_come():
    said = await run(speaks)

    assert said[:2] == [
        OutputFrame(execution_id="speaks", text="one"),
        Reported(
            execution_id="speaks", stage="half", message="there", current=1, total=2, unit="parts"
        ),
    ]
    assert isinstance(said[2], OutputFrame)
    assert said[2].stream == "stderr"
    assert isinstance(said[3], Executed)
    assert (said[3].text or "").startswith("onetwo")


async def test_executions_run_at_the_same_time():
    meeting = asyncio.Barrier(2)

    @tool(name="first")
    async def first(args: NoArgs, ctx: ToolContext) -> ToolResult:
        """Wait for the other one."""
        await meeting.wait()
        return ToolResult.ok("met")

    @tool(name="second")
    async def second(args: NoArgs, ctx: ToolContext) -> ToolResult:
        """Wait for the other one."""
        await meeting.wait()
        return ToolResult.ok("met")

    said = await run(first, second)

    assert [frame.data for frame in said if isinstance(frame, Executed)] == ["met", "met"]
