"""What an agent waits for outlives its service: from then on it is work in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.agents.history import DELEGATED, INTERRUPTED
from app.agents.run_work import RunWork
from app.config.settings import Settings
from app.execution.calls import CallRequest
from tests.agents.delegation.department import Department, Goals, open_department
from tests.agents.delegation.states import as_left, events_of, rows_of, states_kept, wrong
from tests.agents.delegation.successor import all_over, cut, next_service, reported, tasks_of, until
from tests.agents.suspended import ASKS, answer
from tests.execution.lab import PATIENCE_S
from tests.support.scripted_anthropic.server import Received
from tests.support.scripted_anthropic.turns import Block, Gate, Turn, text, tool_use

pytestmark = pytest.mark.usefixtures("no_processes")

SUM = Turn(text("step 1"), tool_use("calculator", {"expression": "6*7"}, id="t1"))
QUESTION = tool_use("bash", {"command": ASKS}, id="q1")


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """The workspace is no part of what is copied: an approval is for a call in this folder."""
    return settings.model_copy(update={"workspace": tmp_path / "workspace"})


def delegating(*goals: str) -> Block:
    return tool_use("delegate_parallel", {"tasks": [{"goal": goal} for goal in goals]}, id="d1")


def batches_of(settings: Settings) -> list[tuple[Any, ...]]:
    return rows_of(settings, "SELECT id, status, background FROM delegation_batches")


def runs_of(settings: Settings) -> list[str]:
    rows = rows_of(settings, "SELECT status FROM runs WHERE trigger <> 'delegation'")
    return [status for (status,) in rows]


def end_of(settings: Settings, call_id: str) -> str:
    end: str
    (end,) = (
        event["status"]
        for event in events_of(settings)
        if event["type"] == "tool_call_completed" and event["tool_call_id"] == call_id
    )
    return end


@asynccontextmanager
async def waiting(department: Department, *beside: Any) -> AsyncIterator[str]:
    """An agent that waits for a sub-agent, which has called something and asks its model again."""
    gate = Gate()
    department.goals.script("please", Turn(delegating("a"), *beside))
    department.goals.script("a", SUM, Turn(text("half"), gate))
    run_id = await department.office.say("please")
    async with asyncio.timeout(PATIENCE_S):
        await gate.reached.wait()
    await department.office.runtime.db.flush()
    yield run_id


async def ended(settings: Settings, goals: Goals) -> None:
    """Let the next service bring everything to its end."""
    async with next_service(settings, goals) as service:
        await all_over(service)
        await until(lambda: "running" not in runs_of(settings))


async def test_it_goes_on_whenever_the_service_was_killed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with states_kept(tmp_path / "states", monkeypatch) as states:
        async with open_department(settings) as department:
            department.goals.script("please", Turn(delegating("a", "b")))
            department.goals.script("a", SUM)
            await department.office.ask("please")
    was_reported = set()
    for number, state in enumerate(states):
        left = as_left(state, settings, tmp_path / f"left{number}")
        before = tasks_of(left)
        goals = Goals()
        await ended(left, goals)
        where = f"after commit {number} of {len(states)}: {before}"
        assert wrong(left) == [], where
        assert [status for _, status in tasks_of(left)] == ["success"] * len(before), where
        assert set(runs_of(left)) <= {"success"}, where
        calls = [e for e in events_of(left) if e["type"] == "tool_call_started"]
        assert len({e["operation_id"] for e in calls}) == len(calls), where
        for first in goals.asked["please"][:1]:
            result, batches = reported(first).get("d1"), batches_of(left)
            if result is not None and batches and end_of(left, "d1") == "interrupted":
                ((batch_id, *_),) = batches
                assert DELEGATED.format(batch_id=batch_id) in result, where
                was_reported.add(tuple(before))
    # Before they began, while they worked, and when they had ended and the call had not.
    assert len(was_reported) >= 3
    assert (("a", "success"), ("b", "success")) in was_reported


async def test_the_agent_takes_its_answer_from_the_background(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with (
        cut(settings, tmp_path / "states", monkeypatch) as (department, states),
        waiting(department),
    ):
        state = states[-1]
    left = as_left(state, settings, tmp_path / "left")
    ((batch_id, *_),) = batches_of(left)

    def ask_for_it(received: Received) -> Turn:
        assert reported(received)["d1"] == f"{INTERRUPTED} {DELEGATED.format(batch_id=batch_id)}"
        return Turn(tool_use("delegate_status", {"id": batch_id, "wait_s": 60}, id="s1"))

    goals = Goals()
    goals.script("please", ask_for_it)
    await ended(left, goals)
    _, second = goals.asked["please"]
    assert "answer to a" in reported(second)["s1"]
    (again,) = goals.asked["a"]
    assert reported(again) == {"t1": "42"}
    assert batches_of(left) == [(batch_id, "success", 1)]
    assert wrong(left) == []


async def test_an_orderly_stop_leaves_it_to_the_next_service(settings: Settings):
    async with open_department(settings) as department, waiting(department):
        pass
    assert tasks_of(settings) == [("a", "running")]
    ((batch_id, *_),) = batches_of(settings)
    goals = Goals()
    await ended(settings, goals)
    (first,) = goals.asked["please"]
    assert DELEGATED.format(batch_id=batch_id) in reported(first)["d1"]
    assert tasks_of(settings) == [("a", "success")]
    assert runs_of(settings) == ["success"]
    assert wrong(settings) == []


async def test_what_the_sub_agent_asks_stays_open(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        department.goals.script("please", Turn(delegating("a")))
        department.goals.script("a", Turn(text("step 1"), QUESTION))
        await department.office.say("please")
        await department.office.watcher.until("tool_confirmation_request")
        await department.office.runtime.db.flush()
        state, session_id = states[-1], department.session.id
        (before,) = department.office.runtime.confirmations.pending(session_id)
    left = as_left(state, settings, tmp_path / "left")
    goals = Goals()
    async with next_service(left, goals) as service:
        assert service.confirmations.pending(session_id) == [before]
        await until(lambda: goals.asked["please"])
        await answer(service, session_id)
        await all_over(service)
        await until(lambda: "running" not in runs_of(left))
    assert (settings.workspace_dir / "ran").read_text().split() == ["x"]
    assert tasks_of(left) == [("a", "success")]
    assert wrong(left) == []


async def test_an_agent_that_asks_beside_it_is_reported_once_it_is_answered(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with (
        cut(settings, tmp_path / "states", monkeypatch) as (department, states),
        waiting(department, QUESTION),
    ):
        await department.office.watcher.until("tool_confirmation_request")
        await department.office.runtime.db.flush()
        state, session_id = states[-1], department.session.id
    left = as_left(state, settings, tmp_path / "left")
    ((batch_id, *_),) = batches_of(left)
    goals = Goals()
    async with next_service(left, goals) as service:
        await all_over(service)
        await answer(service, session_id)
        await until(lambda: "running" not in runs_of(left))
    (first,) = goals.asked["please"]
    assert DELEGATED.format(batch_id=batch_id) in reported(first)["d1"]
    assert tasks_of(left) == [("a", "success")]
    assert wrong(left) == []


async def test_it_ends_with_a_run_that_was_stopped(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with (
        cut(settings, tmp_path / "states", monkeypatch) as (department, states),
        waiting(department) as run_id,
    ):
        await department.office.cancel(run_id)
    for number, state in enumerate(states):
        left = as_left(state, settings, tmp_path / f"left{number}")
        goals = Goals()
        await ended(left, goals)
        assert wrong(left) == []
    assert "a" not in goals.asked
    assert tasks_of(left) == [("a", "cancelled")]


async def test_it_ends_with_a_run_that_cannot_go_on(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with (
        cut(settings, tmp_path / "states", monkeypatch) as (department, states),
        waiting(department),
    ):
        state = states[-1]
    left = as_left(state, settings, tmp_path / "left")

    def fails(*_: Any) -> None:
        raise ValueError("what is kept is of another kind")

    monkeypatch.setattr(RunWork, "cut_off", fails)
    goals = Goals()
    await ended(left, goals)
    assert goals.asked == {}
    assert runs_of(left) == ["interrupted"]
    assert tasks_of(left) == [("a", "cancelled")]
    assert wrong(left) == []


async def test_who_called_directly_is_gone_and_so_is_the_work(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    gate = Gate()
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        department.goals.script("a", SUM, Turn(text("half"), gate))
        request = CallRequest("d1", "delegate_task", {"goal": "a"})
        service = department.office.service
        await service.runs.call_tools(department.session, [request], caller="websocket")
        async with asyncio.timeout(PATIENCE_S):
            await gate.reached.wait()
        await department.office.runtime.db.flush()
        state = states[-1]
    left = as_left(state, settings, tmp_path / "left")
    goals = Goals()
    await ended(left, goals)
    assert goals.asked == {}
    assert tasks_of(left) == [("a", "interrupted")]
    assert runs_of(left) == ["interrupted"]
    assert wrong(left) == []
