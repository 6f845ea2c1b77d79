"""What happens at the same moment: twins, and ends that come before the beginning."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import StorageUnavailable
from tests.agents.delegation.department import Department, open_department, spec
from tests.execution.lab import PATIENCE_S
from tests.support.scripted_anthropic.turns import Gate, Turn, text


@contextmanager
def held_up(department: Department, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """The database takes the next work only when the gate is opened."""
    db, gate = department.office.runtime.db, Gate()
    transact = db.transact

    async def later(work: Any) -> Any:
        await gate.passed()
        return await transact(work)

    with monkeypatch.context() as patched:
        patched.setattr(db, "transact", later)
        yield gate


async def _statuses(department: Department) -> list[list[str]]:
    found = await department.delegation.reports(session_id=department.session.id)
    return [[batch.status, *(task.status for task in batch.tasks)] for batch in found]


async def test_a_twin_is_answered_when_the_first_caller_gives_up(department: Department):
    gate = Gate()
    department.goals.script("once", Turn(gate, text("done")))
    first = asyncio.create_task(department.delegate(spec("once")))
    await department.office.watcher.until("subagent_started")
    second = asyncio.create_task(department.delegate(spec("once")))
    await department.delegate(spec("another"))  # by now the second waits too
    first.cancel()
    await asyncio.wait({first})
    gate.open()
    report = await second
    assert (report.status, report.duplicate, report.tasks[0].response) == ("success", True, "done")
    assert first.cancelled()


async def test_the_last_one_who_waits_for_a_twin_stops_it(department: Department):
    department.goals.script("once", Turn(Gate(), text("done")))
    first = asyncio.create_task(department.delegate(spec("once")))
    await department.office.watcher.until("subagent_started")
    second = asyncio.create_task(department.delegate(spec("once")))
    await department.delegate(spec("another"))
    for caller in (second, first):
        caller.cancel()
        await asyncio.wait({caller})
    ended = await department.office.watcher.until("subagent_finished", name="once")
    assert ended["status"] == "cancelled"


async def test_what_was_stopped_is_nobodys_twin(department: Department):
    gate = Gate()
    for goal in ("a", "b"):
        department.goals.script(goal, Turn(gate, text(goal)))
    first = asyncio.create_task(department.delegate(spec("a"), spec("b")))
    await department.office.watcher.until("subagent_started", 2)
    running = (await department.delegation.reports(session_id=None, running=True))[0]
    await department.delegation.cancel(running.tasks[0].task_id, session_id=None)
    second = asyncio.create_task(department.delegate(spec("a"), spec("b")))
    await department.office.watcher.until("subagent_started", 4)
    gate.open()
    assert [task.status for task in (await first).tasks] == ["cancelled", "success"]
    assert ((await second).status, (await second).duplicate) == ("success", False)


async def test_what_was_asked_for_again_in_the_background_outlives_who_asked_first(
    department: Department,
):
    gate = Gate()
    department.goals.script("once", Turn(gate, text("done")))
    first = asyncio.create_task(department.delegate(spec("once")))
    await department.office.watcher.until("subagent_started")
    again = await department.delegate(spec("once"), background=True)
    assert (again.status, again.duplicate) == ("running", True)
    first.cancel()
    await asyncio.wait({first})
    gate.open()
    ended = await department.office.watcher.until("subagent_finished")
    assert ended["status"] == "success"


async def test_cancelled_before_it_is_kept_nothing_begins_and_all_of_it_ends(
    department: Department, monkeypatch: pytest.MonkeyPatch
):
    with held_up(department, monkeypatch) as runtime:
        starting = asyncio.create_task(department.delegate(spec("a"), spec("b", after=("a",))))
        async with asyncio.timeout(PATIENCE_S):
            await runtime.reached.wait()
            starting.cancel()
            runtime.open()
            await asyncio.wait({starting})
    assert starting.cancelled()
    assert await _statuses(department) == [["cancelled", "cancelled", "cancelled"]]
    assert department.office.watcher.of("subagent_started") == []
    assert department.office.watcher.of("subagent_finished") == []


@pytest.mark.parametrize("how", ["run", "token", "close"])
async def test_stopped_before_it_is_kept_nothing_begins(
    department: Department, monkeypatch: pytest.MonkeyPatch, how: str
):
    from app.governance.limits import QuotaSubject

    department.payers[department.session.id] = (QuotaSubject("tok_1"), True)
    delegation = department.delegation
    with held_up(department, monkeypatch) as runtime:
        starting = asyncio.create_task(department.delegate(spec("a"), background=True))
        async with asyncio.timeout(PATIENCE_S):
            await runtime.reached.wait()
            if how == "run":
                delegation.run_cancelled("run_parent")
            stopping = asyncio.create_task(
                delegation.cancel_by_token("tok_1") if how == "token" else delegation.close()
            )
            runtime.open()
            await asyncio.wait({starting, stopping})
    expected = "waiting" if how == "close" else "cancelled"  # left to the next process
    assert [task[1] for task in await _statuses(department)] == [expected]
    assert department.office.watcher.of("subagent_started") == []


async def test_what_cannot_be_kept_is_not_begun_and_may_be_asked_for_again(
    department: Department, monkeypatch: pytest.MonkeyPatch
):
    async def refuses(_: Any) -> None:
        raise StorageUnavailable("The disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(department.office.runtime.db, "transact", refuses)
        for background in (False, True):
            with pytest.raises(StorageUnavailable):
                await department.delegate(spec("a"), background=background)
    assert await _statuses(department) == []
    report = await department.delegate(spec("a"))
    assert (report.status, report.duplicate) == ("success", False)


async def test_a_sub_agent_that_ran_out_of_time_leaves_nobody_behind(settings: Settings):
    deep = settings.sub_agent.model_copy(update={"max_depth": 2})
    async with open_department(settings.model_copy(update={"sub_agent": deep})) as department:
        department.goals.script("outer", Turn(Gate(), text("never")))
        department.goals.script("inner", Turn(Gate(), text("never")))
        outer = asyncio.create_task(department.delegate(spec("outer", timeout_s=0.5)))
        event = await department.office.watcher.until("subagent_started")
        context = department.context(run_id=event["child_run_id"], tool_call_id="c1")
        await department.delegate(spec("inner", timeout_s=600), context=context, background=True)
        assert (await outer).tasks[0].status == "timeout"
        ended = await department.office.watcher.until("subagent_finished", name="inner")
        assert ended["status"] == "cancelled"
        await department.delegation.close()
