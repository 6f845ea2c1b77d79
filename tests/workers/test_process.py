"""The program of a worker: its loop and its tools, in a real process."""

from __future__ import annotations

import ast
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.agents.delegation.frames import (
    AskModel,
    Begin,
    CallsDone,
    CallTools,
    Execute,
    Executed,
    ModelAnswer,
    StopExecution,
    TaskFinished,
)
from app.agents.delegation.ports import WorkerProcess, WorkerScope
from app.catalog.builtin import BUILTIN_TOOLSETS, toolset_tools
from app.workers.launcher import PROGRAM
from tests.execution.test_every_tool import CASES
from tests.operations.sandbox.procs import alive
from tests.workers.conftest import OpenPool, begin, execute

FORBIDDEN = (
    "app.api",
    "app.bootstrap",
    "app.db",
    "app.execution",
    "app.main",
    "sqlmodel",
    "fastapi",
    "anthropic",
)
LOCAL = {
    *("calculator", "file_exists", "file_search", "find_files", "grep", "json_process"),
    *("list_dir", "read_file", "text_process", "time_reasoning"),
}


def calls(*ids: str) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": name, "name": "grep"} for name in ids]
    return {"content": [{"type": "text", "text": "Let me see."}, *content]}


async def next_of(worker: WorkerProcess) -> object:
    async with asyncio.timeout(60):
        return await anext(worker.frames())


async def test_it_announces_what_the_catalog_routes_to_it(open_pool: OpenPool, place: WorkerScope):
    routed = {
        tool.name
        for module in BUILTIN_TOOLSETS
        for tool in toolset_tools(module)
        if tool.route == "worker-local"
    }
    async with open_pool().take(place) as worker:
        assert worker.tools == routed == LOCAL


@pytest.mark.parametrize("name", sorted(LOCAL))
async def test_each_of_its_tools_works_and_fails_there(
    open_pool: OpenPool, place: WorkerScope, root: Path, name: str
):
    (root / "folder").mkdir()
    right, wrong = CASES[name]
    async with open_pool().take(place) as worker:
        await begin(worker, root)
        done = await execute(worker, name, right)
        refused = await execute(worker, name, wrong)

    assert (done.success, done.error) == (True, None)
    assert not refused.success
    assert refused.error


async def test_a_round_of_calls_and_an_answer(open_pool: OpenPool, place: WorkerScope, root: Path):
    async with open_pool().take(place) as worker:
        await worker.send(Begin(task_id="t", max_rounds=3, root=str(root)))
        assert await next_of(worker) == AskModel(round=1)
        await worker.send(ModelAnswer(round=1, stop_reason="tool_use", **calls("c1", "c2")))
        assert await next_of(worker) == CallTools(round=1, ids=["c1", "c2"])
        read = await execute(worker, "read_file", {"path": "a.txt"})
        await worker.send(CallsDone(round=1, results=[]))
        assert await next_of(worker) == AskModel(round=2)
        await worker.send(ModelAnswer(round=2, content=[], stop_reason="end_turn", heard=True))
        assert await next_of(worker) == AskModel(round=3)
        await worker.send(ModelAnswer(round=3, content=[], stop_reason="end_turn"))
        assert await next_of(worker) == TaskFinished(reason="answered")

    assert "hello" in (read.text or "")


async def test_the_last_round_may_be_without_tools(open_pool: OpenPool, place: WorkerScope):
    async with open_pool().take(place) as worker:
        await worker.send(Begin(task_id="t", max_rounds=2, last_round_without_tools=True))
        assert await next_of(worker) == AskModel(round=1, with_tools=True)
        await worker.send(ModelAnswer(round=1, stop_reason="tool_use", **calls("c1")))
        assert await next_of(worker) == CallTools(round=1, ids=["c1"])
        await worker.send(CallsDone(round=1, results=[]))
        assert await next_of(worker) == AskModel(round=2, with_tools=False)
        await worker.send(ModelAnswer(round=2, stop_reason="tool_use", **calls("c2")))
        assert await next_of(worker) == CallTools(round=2, ids=["c2"])
        await worker.send(CallsDone(round=2, results=[]))
        assert await next_of(worker) == TaskFinished(reason="max_rounds")


async def test_an_answer_to_another_question_ends_it(open_pool: OpenPool, place: WorkerScope):
    async with open_pool().take(place) as worker:
        await begin(worker, None)
        await worker.send(ModelAnswer(round=2, content=[], stop_reason="end_turn"))
        assert [frame async for frame in worker.frames()] == []
        assert await worker.ended() == "it exited with code 3"


async def test_what_needs_the_service_is_sent_back_to_it(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    (root / "paper.pdf").write_bytes(b"%PDF-1.4\n")
    async with open_pool().take(place) as worker:
        await begin(worker, root)
        artifact = await execute(worker, "read_file", {"path": "artifact:art_1"})
        paper = await execute(worker, "read_file", {"path": "paper.pdf"})

    assert [artifact.code, paper.code] == ["not_here", "not_here"]


async def test_arguments_are_looked_at_again(open_pool: OpenPool, place: WorkerScope, root: Path):
    async with open_pool().take(place) as worker:
        await begin(worker, root)
        refused = await execute(worker, "read_file", {"path": 5})
        unknown = await execute(worker, "bash", {"command": "id"})

    assert (refused.invalid_arguments, refused.code) == (True, "invalid_arguments")
    assert (unknown.success, unknown.code) == (False, "tool_not_found")


async def test_the_operators_choice_for_the_calculator_holds_there(
    open_pool: OpenPool, place: WorkerScope
):
    root_of_nine = {"expression": "sqrt(9)"}
    async with open_pool().take(place) as strict, open_pool(functions=True).take(place) as free:
        await begin(strict, None)
        await begin(free, None)
        refused = await execute(strict, "calculator", root_of_nine)
        allowed = await execute(free, "calculator", root_of_nine)

    assert (refused.success, allowed.text) == (False, "3.0")


async def test_a_stopped_execution_is_not_answered_and_others_go_on(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    text = root / "f.txt"
    text.write_text("hello\n" * 20_000)
    for number in range(2_000):
        (root / f"f{number}.txt").hardlink_to(text)
    async with open_pool().take(place) as worker:
        await begin(worker, root)
        slow = Execute(
            execution_id="exe_slow",
            tool="grep",
            # In no line: each file is read to its end.
            arguments={"pattern": "(h|e|l)+x$", "path": "."},
            tool_call_id="c",
            operation_id="o",
        )
        await worker.send(slow)
        await worker.send(StopExecution(execution_id="exe_slow"))
        await worker.send(StopExecution(execution_id="exe_none"))
        await worker.send(
            Execute(
                execution_id="exe_after",
                tool="calculator",
                arguments={"expression": "1+1"},
                tool_call_id="c",
                operation_id="o",
            )
        )
        answered = await next_of(worker)

    assert answered == Executed(
        execution_id="exe_after", success=True, data={"result": 2}, text="2"
    )


async def test_it_ends_with_its_input(open_pool: OpenPool, place: WorkerScope):
    async with open_pool().take(place) as worker:
        await begin(worker, None)
    assert not alive(worker.pid)


def test_it_imports_nothing_of_the_service():
    code = f"{PROGRAM.rpartition(';')[0]}; print([name for name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, check=True, text=True
    )
    loaded = set(ast.literal_eval(done.stdout))

    assert "app.workers.process" in loaded
    assert [name for name in FORBIDDEN if name in loaded] == []


def test_it_says_nothing_but_frames_and_ends_at_the_end_of_its_input(tmp_path: Path):
    begin_frame = json.dumps({"type": "begin", "task_id": "t", "max_rounds": 1})
    equipment = json.dumps({"roots": [], "calculator_functions": False})
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{PROGRAM}", equipment],
        input=f"{begin_frame}\nhalf a line",
        capture_output=True,
        check=True,
        text=True,
        cwd=tmp_path,
    )

    said = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert said[0] == "ready"
    assert set(said) <= {"ready", "ask_model"}
