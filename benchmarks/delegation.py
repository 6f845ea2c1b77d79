"""Agents: a read in a sub-agent's own process, and a hundred concurrent runs.

The model is a script in this process, so that only the service is measured.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

from app.agents.content import user_content
from app.agents.delegation.frames import Begin, Executed, OutputFrame, Reported
from app.agents.delegation.ports import WorkerProcess, WorkerScope
from app.agents.delegation.worker_calls import WorkerCalls
from app.agents.models.protocol import (
    Completed,
    ModelEvent,
    ModelRequest,
    ModelTextDelta,
    TokenUsage,
)
from app.api.service import Service
from app.bootstrap.installation import sandbox_config
from app.bootstrap.service import open_service
from app.config.settings import Settings, load_settings
from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.execution.subagent import Subagent
from app.governance.agents import SubagentScope
from app.operations.sandbox.sandbox import Sandbox
from app.workers.pool import WorkerPool
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    Skipped,
    Stopwatch,
    interleave,
    run,
)

RUNS, READS = 100, 300
_UNIT = "wall us/{}"


class Script:
    """Model that reads a file and then answers, without delay."""

    def __init__(self) -> None:
        self._ids = count(1)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        last = request.messages[-1]["content"]
        if any(block.get("type") == "tool_result" for block in last):
            yield ModelTextDelta(0, "It says hello.")
            content = [{"type": "text", "text": "It says hello."}]
            yield Completed(content, "end_turn", TokenUsage(10, 5), request.model)
            return
        arguments = {"path": "a.txt"}
        use = {"type": "tool_use", "id": f"t{next(self._ids)}", "name": "read_file"}
        yield Completed([{**use, "input": arguments}], "tool_use", TokenUsage(10, 5), request.model)

    async def aclose(self) -> None:
        return None


@asynccontextmanager
async def _service() -> AsyncIterator[Service]:
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
        settings = load_settings(data_dir=Path(folder), log_level="error")
        settings.workspace_dir.mkdir(parents=True)
        (settings.workspace_dir / "a.txt").write_text("hello\n")
        async with open_service(settings, model=Script()) as service:
            yield service


async def _compare_runs(scale: Scale) -> Compared:
    number = scale.count(RUNS)
    async with _service() as service:

        async def one_run() -> None:
            session = service.sessions.create(user_id="ann", project_id="default")
            run_id, _ = await service.runs.send_message(session, user_content("read a.txt"))
            active = service.runs.active(session.id)
            assert active is not None
            assert active.id == run_id
            assert await active.done == "success"

        async def together() -> Figures:
            watch = Stopwatch()
            await asyncio.gather(*(one_run() for _ in range(number)))
            return watch.per(number)

        async def one_by_one() -> Figures:
            watch = Stopwatch()
            for _ in range(number):
                await one_run()
            return watch.per(number)

        return await interleave(scale.rounds, together, one_by_one)


async def _compare_reads(scale: Scale) -> Compared:
    number = scale.count(READS)
    async with _service() as service, _own_tools(service) as own:
        session = service.sessions.create(user_id="ann", project_id="default")
        project = service.projects.get("default")
        here = CallContext(log=session.log, project=project, cacheable=False, caller="rest")
        subagent = Subagent(
            task_id="tsk_1",
            label="bench",
            parent_tool_call_id="c0",
            scope=SubagentScope(),
            depth=1,
            process=own,
        )
        there = replace(here, subagent=subagent)

        async def reads(context: CallContext) -> Figures:
            watch = Stopwatch()
            for place in range(number):
                request = CallRequest(f"c{place}", "read_file", {"path": "a.txt"})
                (outcome,) = await service.executor.run([request], context)
                assert outcome.success, outcome.text
            return watch.per(number)

        return await interleave(scale.rounds, lambda: reads(there), lambda: reads(here))


@asynccontextmanager
async def _own_tools(service: Service) -> AsyncIterator[WorkerCalls]:
    """Provide a worker that has started a task, and never ends it."""
    settings: Settings = service.settings
    root = service.projects.get("default").root
    async with (
        Sandbox(sandbox_config(settings)) as sandbox,
        WorkerPool(sandbox, settings.sub_agent) as pool,
    ):
        if not (await sandbox.known()).levels["bash"].available:
            raise Skipped("the sandbox of this machine lacks a layer that workers need")
        async with pool.take(WorkerScope(root)) as worker:
            await worker.send(Begin(task_id="tsk_1", max_rounds=1, root=root))
            own = WorkerCalls()
            own.attach(worker)
            reading = asyncio.create_task(_listen(worker, own))
            try:
                yield own
            finally:
                reading.cancel()
                await asyncio.wait({reading})


async def _listen(worker: WorkerProcess, own: WorkerCalls) -> None:
    async for frame in worker.frames():
        if isinstance(frame, Executed | OutputFrame | Reported):
            await own.take(frame)


def _runs(scale: Scale) -> list[Result]:
    return [run(_compare_runs(scale)).result("runs_parallel", _UNIT.format("run"), "wall")]


def _reads(scale: Scale) -> list[Result]:
    return [run(_compare_reads(scale)).result("worker_read", _UNIT.format("call"), "wall")]


BENCHMARKS = (
    Benchmark(
        ("runs_parallel",),
        "100 runs at once, each two model requests and a read; floor: one after the other",
        _runs,
    ),
    Benchmark(
        ("worker_read",),
        "a governed read_file in a sub-agent's process; floor: the same in the service",
        _reads,
    ),
)
