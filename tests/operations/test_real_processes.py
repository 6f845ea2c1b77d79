"""Real processes, confined or not: a dialogue, a terminal, and every limit's reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.core.errors import ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import (
    ProcessChunk,
    ProcessExit,
    ProcessLimits,
    ProcessSpec,
    RunningProcess,
    Terminal,
)
from tests.operations.conftest import open_descriptors

pytestmark = pytest.mark.requirement("OPS-04", "OPS-06")


@pytest.fixture(params=["local", "sandboxed"])
def operations(
    request: pytest.FixtureRequest, local: Operations, sandboxed: Operations
) -> Operations:
    return {"local": local, "sandboxed": sandboxed}[request.param]


def shell(script: str, **spec) -> ProcessSpec:
    return ProcessSpec(("sh", "-c", script), **spec)


async def text_of(process: RunningProcess) -> str:
    return b"".join([chunk.data async for chunk in process.output()]).decode()


async def read_until(chunks: AsyncIterator[ProcessChunk], wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        seen += (await anext(chunks)).data
    return seen


async def ending_of(operations: Operations, spec: ProcessSpec) -> ProcessExit:
    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        return await process.wait()


async def test_a_program_answers_while_it_runs(operations: Operations):
    spec = shell("while read -r line; do echo got $line; done; echo bye", interactive=True)

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        chunks = process.output()
        await process.write(b"one\n")
        assert await read_until(chunks, b"\n") == b"got one\n"
        await process.write(b"two\n")
        assert await read_until(chunks, b"\n") == b"got two\n"
        await process.close_input()
        assert await read_until(chunks, b"\n") == b"bye\n"


async def test_first_input_comes_before_what_is_written(operations: Operations):
    spec = ProcessSpec(("cat",), stdin=b"first ", interactive=True)

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        await process.write(b"second")
        await process.close_input()
        assert await text_of(process) == "first second"


async def test_a_write_larger_than_the_pipe_waits_for_the_program(operations: Operations):
    data = b"x" * 1_000_000

    async with (
        asyncio.timeout(60),
        operations.processes.open(ProcessSpec(("wc", "-c"), interactive=True)) as process,
    ):
        await asyncio.gather(process.write(data), process.write(data))
        await process.close_input()
        assert (await text_of(process)).strip() == "2000000"


async def test_a_write_nobody_takes_can_be_given_up(operations: Operations):
    spec = ProcessSpec(("sleep", "600"), interactive=True)

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        writing = asyncio.create_task(process.write(b"x" * 1_000_000))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await process.kill()

    assert writing.cancelled()


async def test_a_write_to_a_process_that_ended_says_so(operations: Operations):
    spec = ProcessSpec(("true",), interactive=True)

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        await process.wait()
        with pytest.raises(ToolFailed) as caught:
            await process.write(b"x")

    assert caught.value.details["code"] == "input_closed"


async def test_a_terminal_has_a_size_and_a_line_discipline(operations: Operations):
    script = "tty >/dev/null && stty size; read -r line; echo got $line; sleep 600"
    spec = ProcessSpec(("bash", "-c", script), terminal=Terminal(33, 99))

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        chunks = process.output()
        assert await read_until(chunks, b"\n") == b"33 99\r\n"
        await process.write(b"hi\n")
        assert await read_until(chunks, b"got hi\r\n") == b"hi\r\ngot hi\r\n"
        await process.write(b"\x03")
        ended = await process.wait()

    assert (ended.code, ended.signal) == (130, 2)


async def test_the_input_of_a_terminal_ends_in_the_middle_of_a_line(operations: Operations):
    spec = ProcessSpec(("cat",), terminal=Terminal())

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        await process.write(b"abc")
        await process.close_input()
        assert await text_of(process) == "abcabc"


async def test_a_program_has_its_terminal_as_controlling_terminal(operations: Operations):
    spec = shell("echo to the terminal >/dev/tty", terminal=Terminal())

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        assert await text_of(process) == "to the terminal\r\n"


async def test_the_wall_clock_ends_the_tree(operations: Operations):
    ended = await ending_of(
        operations, shell("trap '' TERM; sleep 600 & wait", limits=ProcessLimits(wall_s=0.3))
    )

    assert ended.reason == "timeout"
    assert ended.code != 0


async def test_too_much_output_ends_the_tree(operations: Operations):
    spec = ProcessSpec(("yes",), limits=ProcessLimits(output_bytes=100_000))

    async with asyncio.timeout(60), operations.processes.open(spec) as process:
        text = await text_of(process)
        ended = await process.wait()

    assert len(text) == 100_000
    assert ended.reason == "output"


async def test_being_killed_is_distinguished_from_ending(operations: Operations):
    async with asyncio.timeout(60), operations.processes.open(shell("sleep 600")) as process:
        await process.kill()
        assert (await process.wait()).reason == "killed"
    assert (await ending_of(operations, shell("kill -9 $$"))).reason == "exited"


async def test_nothing_stays_open_after_each_way_to_end(operations: Operations):
    await ending_of(operations, shell("true"))
    before = open_descriptors()

    await ending_of(operations, shell("true", terminal=Terminal()))
    await ending_of(operations, shell("sleep 600", limits=ProcessLimits(wall_s=0.05)))
    await ending_of(operations, shell("yes", limits=ProcessLimits(output_bytes=10)))
    async with operations.processes.open(shell("cat", interactive=True)):
        pass

    assert open_descriptors() == before
