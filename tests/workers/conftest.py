"""Real worker processes over a small workspace."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from app.agents.delegation.frames import Begin, Execute, Executed
from app.agents.delegation.ports import WorkerProcess, WorkerScope
from app.config.sections import SubAgentSettings
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.workers.launcher import PROGRAM
from app.workers.pool import WorkerPool

OpenPool = Callable[..., WorkerPool]
_NUMBERS = itertools.count(1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "src").mkdir(parents=True)
    (folder / "docs").mkdir()
    (folder / "a.txt").write_text("hello\n")
    (folder / "src" / "main.py").write_text("print('hello')\n")
    (folder / "docs" / "guide.md").write_text("hello\n")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "tollgate.db").write_text("everything")
    return folder


@pytest.fixture
async def sandbox(data: Path) -> AsyncIterator[Sandbox]:
    """As the service has it: its private folders lie in the data directory."""
    config = SandboxConfig(temporary=data / "tmp", hidden=(str(data),), warm_workers=0)
    async with Sandbox(config) as opened:
        yield opened


@pytest.fixture
async def open_pool(sandbox: Sandbox) -> AsyncIterator[OpenPool]:
    async with AsyncExitStack() as stack:

        def opened(program: str = PROGRAM, *, functions: bool = False, **settings) -> WorkerPool:
            chosen = SubAgentSettings(**{"warm": 0, **settings})
            pool = WorkerPool(sandbox, chosen, calculator_functions=functions, program=program)
            stack.push_async_callback(pool.close)
            return pool

        yield opened


@pytest.fixture
def place(root: Path) -> WorkerScope:
    return WorkerScope(str(root))


async def begin(worker: WorkerProcess, root: Path | None, **fields) -> None:
    """Give it a task; of what it says, its first wish is heard and left alone."""
    where = None if root is None else str(root)
    await worker.send(Begin(**{"task_id": "task_1", "max_rounds": 2, "root": where, **fields}))
    await anext(worker.frames())


async def execute(worker: WorkerProcess, tool: str, arguments: dict[str, Any]) -> Executed:
    """Have a tool run, and wait for its result; what comes before that is dropped."""
    execution_id = f"exe_{next(_NUMBERS)}"
    await worker.send(
        Execute(
            execution_id=execution_id,
            tool=tool,
            arguments=arguments,
            tool_call_id="call_1",
            operation_id="op_1",
            project_id="default",
        )
    )
    async for frame in worker.frames():
        if isinstance(frame, Executed) and frame.execution_id == execution_id:
            return frame
    raise AssertionError(await worker.ended())


async def said(worker: WorkerProcess, code: str) -> str:
    """What an expression comes to in a worker that runs `programs.TRIES`."""
    return (await execute(worker, "eval", {"code": code})).text or ""
