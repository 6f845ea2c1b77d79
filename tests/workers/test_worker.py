"""Workers that are killed, that lie, flood, or say nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import tracemalloc
from pathlib import Path

import pytest

from app.agents.delegation.frames import (
    MAX_FRAME,
    AskModel,
    Begin,
    CallsDone,
    Execute,
    FromWorker,
    StopExecution,
    WorkerProtocolError,
)
from app.agents.delegation.ports import WorkerProcess, WorkerScope
from app.core.errors import ToolFailed
from tests.operations.sandbox.procs import alive, parent, until_gone
from tests.workers.conftest import OpenPool, begin, execute
from tests.workers.programs import WAITS, program

FLOOD = MAX_FRAME * 4


async def all_frames(worker: WorkerProcess) -> list[FromWorker]:
    async with asyncio.timeout(60):
        return [frame async for frame in worker.frames()]


async def one_frame(worker: WorkerProcess) -> FromWorker:
    return await anext(worker.frames())


async def test_a_killed_worker_ends_its_frames_and_tells_how(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    async with asyncio.timeout(60), open_pool().take(place) as worker:
        await begin(worker, root)
        os.kill(worker.pid, signal.SIGKILL)

        assert await all_frames(worker) == []
        assert await worker.ended() == "it was ended by signal 9"
        with pytest.raises(ToolFailed) as caught:
            await worker.send(StopExecution(execution_id="exe_1"))
        assert caught.value.details["code"] == "worker_lost"


async def test_with_its_supervisor_a_worker_ends_too(open_pool: OpenPool, place: WorkerScope):
    async with asyncio.timeout(60), open_pool(WAITS).take(place) as worker:
        os.kill(parent(worker.pid), signal.SIGKILL)

        assert await all_frames(worker) == []
        assert await worker.ended() == "its sandbox process was killed"
        await until_gone(worker.pid)


async def test_killing_many_at_work_leaves_the_others_and_the_pool_whole(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    pool = open_pool(processes=4, warm=1)
    outcomes: list[str] = []

    async def use(number: int) -> None:
        async with pool.take(place) as worker:
            await begin(worker, root)
            if number % 2:
                os.kill(worker.pid, signal.SIGKILL)
                assert await all_frames(worker) == []
                outcomes.append(await worker.ended())
            else:
                counted = await execute(worker, "calculator", {"expression": f"{number}+0"})
                assert counted.text == str(number)

    async with asyncio.timeout(120):
        await asyncio.gather(*(use(number) for number in range(20)))

    assert outcomes == ["it was ended by signal 9"] * 10
    assert pool.waiting == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("not json", "an invalid frame"),
        ('{"type":"begin","task_id":"t","max_rounds":1}', "an invalid frame"),
        ('{"type":"ask_model","round":0}', "an invalid frame"),
        ('{"type":"ask_model","round":1,"route":"main"}', "an invalid frame"),
        ("", "an invalid frame"),
    ],
)
async def test_what_is_no_frame_ends_it(
    open_pool: OpenPool, place: WorkerScope, line: str, why: str
):
    liar = program(f"say({line!r}); sys.stdin.read()")
    async with asyncio.timeout(60), open_pool(liar).take(place) as worker:
        with pytest.raises(WorkerProtocolError, match=why):
            await all_frames(worker)
        assert await worker.ended() == "it sent an invalid frame"
        assert not alive(worker.pid)


async def test_frames_before_what_is_none_are_heard(open_pool: OpenPool, place: WorkerScope):
    liar = program("""say('{"type":"ask_model","round":1}'); say('x'); sys.stdin.read()""")
    async with asyncio.timeout(60), open_pool(liar).take(place) as worker:
        frames = worker.frames()
        heard = await anext(frames)
        with pytest.raises(WorkerProtocolError):
            await anext(frames)

    assert heard == AskModel(round=1)


async def test_a_line_without_an_end_takes_no_memory_beyond_one_frame(
    open_pool: OpenPool, place: WorkerScope
):
    flood = program("while True: os.write(1, b'x' * 65536)")
    async with asyncio.timeout(60), open_pool(flood).take(place) as worker:
        tracemalloc.start()
        with pytest.raises(WorkerProtocolError, match="longer than"):
            await all_frames(worker)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak < 3 * MAX_FRAME


async def test_frames_that_nobody_reads_stay_with_the_worker(
    open_pool: OpenPool, place: WorkerScope
):
    text = "x" * 65536
    flood = program(
        f"""
        while True:
            say('{{"type":"output","execution_id":"e","text":"{text}"}}')
        """
    )
    async with asyncio.timeout(60), open_pool(flood).take(place) as worker:
        tracemalloc.start()
        await worker.send(Begin(task_id="t", max_rounds=1))
        first = await anext(worker.frames())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert first.type == "output"
    assert peak < MAX_FRAME


async def test_endless_errors_are_kept_as_a_short_tail(
    open_pool: OpenPool, place: WorkerScope, caplog: pytest.LogCaptureFixture
):
    noisy = program(
        f"""
        for _ in range({FLOOD >> 16}):
            os.write(2, b'y' * 65535 + b'\\n')
        os.write(2, b'ERROR of the service\\nthe last words')
        say('{{"type":"ask_model","round":1}}')
        sys.stdin.read()
        """
    )
    async with asyncio.timeout(60), open_pool(noisy).take(place) as worker:
        tracemalloc.start()
        heard = await anext(worker.frames())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert heard == AskModel(round=1)
    assert peak < 4 << 20
    assert "the last words" in caplog.text
    assert "\nERROR of the service" not in caplog.text
    assert "\nthe last words" not in caplog.text
    assert len(caplog.text) < 16 << 10


async def test_more_than_any_worker_says_ends_it(open_pool: OpenPool, place: WorkerScope):
    noisy = program("while True: os.write(2, b'y' * 65536)")
    async with asyncio.timeout(120), open_pool(noisy).take(place) as worker:
        assert await all_frames(worker) == []
        assert await worker.ended() == "it exceeded its output limit"


async def test_one_that_closes_its_output_is_ended_with_its_task(
    open_pool: OpenPool, place: WorkerScope
):
    silent = program("os.close(1); sys.stdin.read()")
    async with asyncio.timeout(60):
        async with open_pool(silent).take(place) as worker:
            await worker.send(Begin(task_id="t", max_rounds=1))
            reading = asyncio.create_task(all_frames(worker))
        assert await reading == []
        assert await worker.ended() == "the service stopped it"
        assert not alive(worker.pid)


async def test_one_that_does_not_listen_holds_up_only_its_own_senders(
    open_pool: OpenPool, place: WorkerScope
):
    deaf = program("time.sleep(600)")
    large = Execute(
        execution_id="e",
        tool="read_file",
        arguments={"path": "x" * (1 << 20)},
        tool_call_id="c",
        operation_id="o",
    )
    async with asyncio.timeout(60):
        async with open_pool(deaf).take(place) as worker:
            sending = [asyncio.create_task(worker.send(large)) for _ in range(3)]
            await asyncio.sleep(0)
            sending[0].cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending[0]
        with pytest.raises(ToolFailed) as caught:
            await sending[1]
        await asyncio.wait(sending)

    assert caught.value.details["code"] == "worker_lost"


async def test_a_frame_whose_sender_gave_up_does_not_spoil_the_next(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    large = Execute(
        execution_id="exe_large",
        tool="calculator",
        arguments={"expression": "1" * (2 << 20)},
        tool_call_id="c",
        operation_id="o",
    )
    async with asyncio.timeout(60), open_pool().take(place) as worker:
        await begin(worker, root)
        sending = asyncio.create_task(worker.send(large))
        await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait({sending})
        counted = await execute(worker, "calculator", {"expression": "2+2"})

    assert counted.text == "4"


async def test_a_frame_that_is_too_long_is_refused_before_it_is_sent(
    open_pool: OpenPool, place: WorkerScope
):
    long = CallsDone(round=1, results=[{"text": "x" * MAX_FRAME}])
    async with asyncio.timeout(60), open_pool(WAITS).take(place) as worker:
        with pytest.raises(WorkerProtocolError, match="exceeds the limit"):
            await worker.send(long)
        await worker.send(CallsDone(round=1, results=[]))


async def test_a_reader_that_gives_up_loses_nothing(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    async with asyncio.timeout(60), open_pool().take(place) as worker:
        reading = asyncio.create_task(one_frame(worker))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait({reading})
        await worker.send(Begin(task_id="t", max_rounds=1, root=str(root)))

        assert await anext(worker.frames()) == AskModel(round=1)
