"""What a sub-agent in the background asks outlives its service, and is answered in the next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.agents.restart_policy import MOST_TRIES
from app.config.settings import Settings
from app.domain.delegation import TaskSpec
from app.execution.outcome_builder import INTERRUPTED
from app.governance.limits import QuotaSubject
from tests.agents.delegation.department import Department, Goals, open_department, spec
from tests.agents.delegation.states import as_left, changed, events_of, rows_of, states_kept, wrong
from tests.agents.delegation.successor import all_over, cut, next_service, reported, tasks_of, until
from tests.agents.suspended import ASKS, answer
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use

pytestmark = pytest.mark.usefixtures("no_processes")

QUESTION = tool_use("bash", {"command": ASKS}, id="t1")
SUM = tool_use("calculator", {"expression": "6*7"}, id="t2")
LONG = tool_use("bash", {"command": "touch begun; sleep 600"}, id="t3")


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """The workspace is no part of what is copied: an approval is for a call in this folder."""
    return settings.model_copy(update={"workspace": tmp_path / "workspace"})


async def asking(department: Department, *calls: Any, **fields: Any) -> str:
    """A task in the background that asks somebody; the session's id."""
    department.goals.script("a", Turn(text("step 1"), *(calls or (QUESTION,))))
    await department.delegate(TaskSpec(goal="a", label="a", **fields), background=True)
    await department.office.watcher.until("tool_confirmation_request")
    await department.office.runtime.db.flush()
    return department.session.id


def ran(settings: Settings) -> int:
    """How often the command was run that asks."""
    reported_by = settings.workspace_dir / "ran"
    return len(reported_by.read_text().split()) if reported_by.exists() else 0


def kinds(settings: Settings) -> list[str]:
    return [event["type"] for event in events_of(settings)]


def ends(settings: Settings) -> dict[str, str]:
    events = events_of(settings)
    return {e["tool_call_id"]: e["status"] for e in events if e["type"] == "tool_call_completed"}


@pytest.mark.parametrize(("option", "times"), [("approve_once", 1), ("decline", 0)])
async def test_a_kill_leaves_the_question_open_and_its_answer_is_heard(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    times: int,
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        session_id = await asking(department)
        state = states[-1]
        (before,) = department.office.runtime.confirmations.pending(session_id)
    left = as_left(state, settings, tmp_path / "left")
    goals = Goals()
    async with next_service(left, goals) as service:
        (asked,) = service.confirmations.pending(session_id)
        assert asked == before
        assert asked["requested_by"]["subagent"] == "a"
        await answer(service, session_id, option)
        await all_over(service)
    assert ran(left) == times
    (first,) = goals.asked["a"]
    assert ("A person declined" in reported(first)["t1"]) == (option == "decline")
    assert tasks_of(left) == [("a", "success")]
    assert wrong(left) == []
    assert "run_resumed" not in kinds(left)
    assert kinds(left).count("tool_confirmation_resolved") == 1


async def test_whenever_the_service_is_killed_the_command_runs_at_most_once(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with states_kept(tmp_path / "states", monkeypatch) as states:
        async with open_department(settings) as department:
            session_id = await asking(department, QUESTION, SUM)
            await answer(department.office.service, session_id)
            await department.office.watcher.until("subagent_finished")
    assert ran(settings) == 1
    asked_again = 0
    for number, state in enumerate(states):
        (settings.workspace_dir / "ran").unlink(missing_ok=True)
        left = as_left(state, settings, tmp_path / f"left{number}")
        before = rows_of(left, "SELECT consumed_at FROM confirmations")
        goals = Goals()
        async with next_service(left, goals) as service:
            asked = service.confirmations.pending(session_id)
            asked_again += len(asked)
            if asked:
                await answer(service, session_id)
            await all_over(service)
        where = f"after commit {number} of {len(states)}"
        assert wrong(left) == [], where
        # What had begun in the killed service is not run again; what was not put is not run at all.
        assert ran(left) == before.count((None,)), where
        assert {status for _, status in tasks_of(left)} <= {"success"}, where
        for first in goals.asked["a"][:1]:
            assert len(reported(first)) in (0, 2), where
    assert asked_again


async def test_an_orderly_stop_leaves_the_question_to_the_next_service(settings: Settings):
    async with open_department(settings) as department:
        session_id = await asking(department)
        await department.delegation.close()
    assert "tool_confirmation_resolved" not in kinds(settings)
    assert tasks_of(settings) == [("a", "running")]
    # Once more: nobody answers in the first of two.
    async with next_service(settings, Goals()) as service:
        assert service.confirmations.pending(session_id)
    goals = Goals()
    async with next_service(settings, goals) as service:
        await answer(service, session_id)
        await all_over(service)
    assert ran(settings) == 1
    assert list(reported(goals.asked["a"][0])) == ["t1"]
    assert tasks_of(settings) == [("a", "success")]
    assert wrong(settings) == []


async def test_what_was_called_beside_it_keeps_its_result_or_was_interrupted(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        session_id = await asking(department, QUESTION, SUM, LONG)
        await department.office.watcher.until("tool_call_completed", tool_call_id="t2")
        await until((settings.workspace_dir / "begun").exists)
        await department.office.runtime.db.flush()
        state = states[-1]
    left = as_left(state, settings, tmp_path / "left")
    goals = Goals()
    async with next_service(left, goals) as service:
        await answer(service, session_id)
        await all_over(service)
    assert ends(left) == {"t1": "success", "t2": "success", "t3": "interrupted"}
    results = reported(goals.asked["a"][0])
    assert list(results) == ["t1", "t2", "t3"]
    assert (results["t2"], results["t3"]) == ("42", INTERRUPTED)
    assert ran(left) == 1
    (calls,) = await calls_of(left)
    assert {call["tool_call_id"]: call["status"] for call in calls} == ends(left)
    assert wrong(left) == []


async def calls_of(settings: Settings) -> list[Sequence[Mapping[str, Any]]]:
    """The calls of each task, as they are shown."""
    async with next_service(settings, Goals()) as service:
        reports = await service.delegation.reports(session_id=None)
        return [task.calls for report in reports for task in report.tasks]


async def test_it_may_wait_through_any_number_of_crashes(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        session_id = await asking(department)
        state = states[-1]
    for number in range(MOST_TRIES + 2):
        left = as_left(state, settings, tmp_path / f"left{number}")
        with states_kept(tmp_path / f"states{number}", monkeypatch) as states:
            async with next_service(left, Goals()) as service:
                assert service.confirmations.pending(session_id)
                await service.db.flush()
                state = states[-1]
    async with next_service(left, Goals()) as service:
        await answer(service, session_id)
        await all_over(service)
    assert tasks_of(left) == [("a", "success")]
    assert ran(left) == 1


async def test_the_last_round_is_made_though_nobody_hears_of_it(settings: Settings):
    async with open_department(settings) as department:
        session_id = await asking(department, max_rounds=1)
        await department.delegation.close()
    goals = Goals()
    async with next_service(settings, goals) as service:
        await answer(service, session_id)
        await all_over(service)
    assert ran(settings) == 1
    assert "a" not in goals.asked
    assert tasks_of(settings) == [("a", "max_rounds")]
    assert wrong(settings) == []


async def test_it_is_taken_back_when_the_task_is_stopped_before_it_goes_on(settings: Settings):
    async with open_department(settings) as department:
        department.goals.script("b", Turn(text("half"), Gate()))
        session_id = await asking(department)
        await department.delegate(spec("b"), background=True)
        await department.office.watcher.until("text_delta")
        await department.delegation.close()
    few = settings.sub_agent.model_copy(update={"processes": 1})
    goals = Goals()
    gate = Gate()
    for goal in ("a", "b"):
        goals.script(goal, Turn(text("half"), gate))
    left = settings.model_copy(update={"sub_agent": few})
    async with next_service(left, goals) as service:
        (asked,) = service.confirmations.pending(session_id)
        for report in await service.delegation.reports(session_id=session_id):
            await service.delegation.cancel(report.batch_id, session_id=session_id)
        assert service.confirmations.pending(session_id) == []
        await all_over(service)
    (resolved,) = [e for e in events_of(left) if e["type"] == "tool_confirmation_resolved"]
    assert resolved["confirmation_id"] == asked["confirmation_id"]
    assert resolved["outcome"] == "cancelled"
    assert ends(left) == {"t1": "cancelled"}
    assert {status for _, status in tasks_of(left)} == {"cancelled"}
    assert ran(left) == 0
    assert wrong(left) == []


STOPS = {
    "the run was stopped": "UPDATE runs SET status = 'cancelled' WHERE id = 'run_parent'",
    "its agent is gone": (
        "UPDATE delegation_batches SET parent = json_set(parent, '$.agent_id', 'nobody')"
    ),
    "its folder is gone": (
        "UPDATE delegation_batches SET parent = json_set(parent, '$.project_id', 'nowhere')"
    ),
}


@pytest.mark.parametrize("why", STOPS)
async def test_it_is_taken_back_when_the_work_cannot_go_on(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        await department.office.ask("hello", run_id="run_parent")
        session_id = await asking(department)
        state = states[-1]
    left = as_left(state, settings, tmp_path / "left")
    changed(left, STOPS[why])
    async with next_service(left, Goals()) as service:
        await all_over(service)
        assert service.confirmations.pending(session_id) == []
    assert tasks_of(left) == [("a", "interrupted")]
    (resolved,) = [e for e in events_of(left) if e["type"] == "tool_confirmation_resolved"]
    assert resolved["outcome"] == "cancelled"
    assert ends(left) == {"t1": "interrupted"}
    assert ran(left) == 0
    assert wrong(left) == []


async def test_it_is_taken_back_with_the_token_that_began_it(settings: Settings):
    async with open_department(settings) as department:
        department.payers[department.session.id] = (QuotaSubject("tok_gone"), True)
        session_id = await asking(department)
        await department.delegation.close()
    async with next_service(settings, Goals()) as service:
        await all_over(service)
        assert service.confirmations.pending(session_id) == []
    assert tasks_of(settings) == [("a", "interrupted")]
    assert ran(settings) == 0
    assert wrong(settings) == []


@pytest.mark.parametrize("way", ["stopped", "killed"])
async def test_a_ticket_that_it_waits_for_outlives_it_too(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
):
    asks = tool_use("escalate", {"reason": "Pay?", "blocking": True}, id="t1")
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        department.goals.script("a", Turn(asks))
        await department.delegate(spec("a"), background=True)
        opened = await department.office.watcher.until("ticket_opened")
        await department.office.runtime.db.flush()
        state = states[-1]
        if way == "stopped":
            await department.delegation.close()
            await department.office.runtime.db.flush()
            state = states[-1]
    left = as_left(state, settings, tmp_path / "left")
    goals = Goals()
    async with next_service(left, goals) as service:
        session = await service.sessions.get(opened["session_id"])
        assert session is not None
        await service.tickets.resolve(
            opened["ticket_id"], "answered", "Pay it", actor="boss", expected=1, log=session.log
        )
        await all_over(service)
    assert "Pay it" in reported(goals.asked["a"][0])["t1"]
    assert tasks_of(left) == [("a", "success")]
    assert kinds(left).count("ticket_opened") == 1
    assert wrong(left) == []


class NoWorkers:
    """Every process is taken."""

    @asynccontextmanager
    async def take(self, place: Any) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield place


@asynccontextmanager
async def no_workers(*_: Any, **__: Any) -> AsyncIterator[NoWorkers]:
    yield NoWorkers()


async def test_an_answer_that_nobody_has_acted_on_outlives_the_next_service_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    async with open_department(settings) as department:
        session_id = await asking(department)
        await department.delegation.close()
    with monkeypatch.context() as patched:
        patched.setattr("app.workers.pool.WorkerPool", no_workers)
        async with next_service(settings, Goals()) as service:
            await answer(service, session_id, "decline")
    assert ends(settings) == {}
    goals = Goals()
    async with next_service(settings, goals) as service:
        assert service.confirmations.pending(session_id) == []
        await all_over(service)
    assert "A person declined" in reported(goals.asked["a"][0])["t1"]
    assert ends(settings) == {"t1": "declined"}
    assert ran(settings) == 0
    assert tasks_of(settings) == [("a", "success")]
    assert wrong(settings) == []
