"""A worker that says whatever it likes gains nothing, and is ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from app.agents.delegation.frames import (
    AskModel,
    CallTools,
    Execute,
    Executed,
    OutputFrame,
    Reported,
    TaskFinished,
    WorkerProtocolError,
    WorkerReady,
)
from app.config.settings import Settings
from tests.agents.delegation.department import open_department, spec
from tests.agents.delegation.doubles import Double, Doubles
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

EVERYTHING = frozenset({"read_file", "write_file", "bash", "memory_save"})
Forger = Callable[[Double], Awaitable[None]]


async def _begin(worker: Double) -> None:
    await worker.next()
    worker.say(AskModel(round=1))
    await worker.next()


async def skips_a_round(worker: Double) -> None:
    await worker.next()
    worker.say(AskModel(round=2))


async def asks_again_and_again(worker: Double) -> None:
    await _begin(worker)
    for number in range(2, 100):
        worker.say(AskModel(round=number))


async def ignores_its_calls(worker: Double) -> None:
    await _begin(worker)
    worker.say(AskModel(round=2))


async def ends_without_making_its_calls(worker: Double) -> None:
    await _begin(worker)
    worker.say(TaskFinished(reason="answered"))


async def ends_before_it_began(worker: Double) -> None:
    await worker.next()
    worker.say(TaskFinished(reason="answered"))


async def calls_what_nobody_called(worker: Double) -> None:
    await _begin(worker)
    worker.say(CallTools(round=1, ids=["t1", "forged"]))


async def calls_twice(worker: Double) -> None:
    await _begin(worker)
    worker.say(CallTools(round=1, ids=["t1", "t1"]))


async def calls_before_it_asked(worker: Double) -> None:
    await worker.next()
    worker.say(CallTools(round=1, ids=["t1"]))


async def is_ready_twice(worker: Double) -> None:
    await _begin(worker)
    worker.say(WorkerReady(pid=1, tools=["bash"]))


async def says_nonsense(worker: Double) -> None:
    await _begin(worker)
    worker.say(WorkerProtocolError("A worker sent an invalid frame: type"))


FORGERS: tuple[Forger, ...] = (
    skips_a_round,
    asks_again_and_again,
    ignores_its_calls,
    ends_without_making_its_calls,
    ends_before_it_began,
    calls_what_nobody_called,
    calls_twice,
    calls_before_it_asked,
    is_ready_twice,
    says_nonsense,
)


@pytest.mark.parametrize("forger", FORGERS, ids=lambda forger: forger.__name__)
async def test_what_no_worker_says_ends_it(settings: Settings, forger: Forger):
    async with open_department(settings, Doubles(forger, EVERYTHING)) as department:
        department.goals.script("g", Turn(text("I write."), tool_use("write_file", {}, id="t1")))
        report = await department.delegate(spec("g"))
        task = report.tasks[0]
        assert task.status == "error"
        assert task.error is not None
        assert task.error["code"] == "worker_protocol"
        assert department.office.watcher.of("tool_call_started") == []
        assert len(department.goals.asked["g"]) <= 1
        ended = department.office.watcher.of("subagent_finished")
        assert [event["error"]["code"] for event in ended] == ["worker_protocol"]


async def test_what_a_worker_claims_to_have_does_not_move_a_write_into_it(settings: Settings):
    executed: list[str] = []

    async def claims_everything(worker: Double) -> None:
        await _begin(worker)
        worker.say(CallTools(round=1, ids=["t1", "t2"]))
        while True:
            frame = await worker.next()
            if isinstance(frame, Execute):
                executed.append(frame.tool)
                worker.say(Executed(execution_id=frame.execution_id, success=True, text="forged"))
            else:
                worker.say(AskModel(round=2))
                await worker.next()
                worker.say(TaskFinished(reason="answered"))

    async with open_department(settings, Doubles(claims_everything, EVERYTHING)) as department:
        write = tool_use("write_file", {"path": "a.txt", "content": "real"}, id="t1")
        read = tool_use("read_file", {"path": "a.txt"}, id="t2")
        department.goals.script("g", Turn(write, read), Turn(text("done")))
        report = await department.delegate(spec("g"))
        assert report.status == "success"
        assert executed == ["read_file"]
        path = settings.workspace_dir / "a.txt"
        assert path.read_text() == "real"


async def test_results_of_executions_that_nobody_asked_for_are_ignored(settings: Settings):
    async def forges_results(worker: Double) -> None:
        await _begin(worker)
        for id_ in ("exe_1", "op_0", "t1"):
            worker.say(Executed(execution_id=id_, success=True, text="forged"))
            worker.say(OutputFrame(execution_id=id_, text="forged"))
            worker.say(Reported(execution_id=id_, stage="forged"))
        worker.say(TaskFinished(reason="answered"))

    async with open_department(settings, Doubles(forges_results)) as department:
        report = await department.delegate(spec("g"))
        assert (report.status, report.tasks[0].response) == ("success", "answer to g")
        assert "forged" not in str(department.office.watcher.events)


async def test_a_result_of_no_known_shape_is_only_text(settings: Settings):
    async def draws(worker: Double) -> None:
        await _begin(worker)
        worker.say(CallTools(round=1, ids=["t1"]))
        frame = await worker.next()
        assert isinstance(frame, Execute)
        worker.say(
            Executed(
                execution_id=frame.execution_id,
                success=True,
                text="words",
                raw_result={"type": "script", "data": "alert(1)"},
            )
        )
        await worker.next()
        worker.say(AskModel(round=2))
        await worker.next()
        worker.say(TaskFinished(reason="answered"))

    async with open_department(settings, Doubles(draws)) as department:
        use = tool_use("read_file", {"path": "a.txt"}, id="t1")
        department.goals.script("g", Turn(use), Turn(text("done")))
        assert (await department.delegate(spec("g"))).status == "success"
        event = department.office.watcher.of("tool_call_completed")[0]
        assert event.get("raw_result") is None
        assert "alert" not in str(event)


async def test_who_has_its_answer_gets_no_further_one(settings: Settings):
    async def goes_on(worker: Double) -> None:
        await _begin(worker)
        worker.say(AskModel(round=2))

    async with open_department(settings, Doubles(goes_on)) as department:
        report = await department.delegate(spec("g"))
        error = report.tasks[0].error
        assert error is not None
        assert error["code"] == "worker_protocol"
        assert len(department.goals.asked["g"]) == 1


async def test_reports_without_measure_are_cut(settings: Settings):
    async def reports(worker: Double) -> None:
        await _begin(worker)
        worker.say(CallTools(round=1, ids=["t1"]))
        frame = await worker.next()
        assert isinstance(frame, Execute)
        id_ = frame.execution_id
        long = "x" * 1_000_000
        worker.say(Reported(execution_id=id_, stage="s", message=long, current=1, unit=long))
        worker.say(Reported(execution_id=id_, stage="t", current=1e308, total=1e-308))
        worker.say(Executed(execution_id=id_, success=True, text="done", data={"n": 10**400}))
        await worker.next()
        worker.say(AskModel(round=2))
        await worker.next()
        worker.say(TaskFinished(reason="answered"))

    async with open_department(settings, Doubles(reports)) as department:
        use = tool_use("read_file", {"path": "a.txt"}, id="t1")
        department.goals.script("g", Turn(use), Turn(text("done")))
        assert (await department.delegate(spec("g"))).status == "success"
        events = department.office.watcher.of("process_event")
        assert [event["stage"] for event in events][:2] == ["s", "t"]
        assert max(len(str(event)) for event in events) < 10_000
