"""Sub-agents in the background outlive their service, and repeat nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.agents.history import INTERRUPTED, NOT_RUN
from app.agents.restart_policy import MOST_TRIES
from app.config.settings import Settings
from app.db.statements import Statement
from app.domain.delegation import BatchReport
from app.governance.agents import AgentProfile
from app.governance.limits import QuotaSubject
from tests.agents.delegation.department import Department, Goals, open_department, spec
from tests.agents.delegation.states import (
    as_left,
    changed,
    events_of,
    rows_of,
    states_kept,
    wrong,
)
from tests.agents.delegation.successor import all_over, cut, next_service, reported, tasks_of, until
from tests.execution.lab import PATIENCE_S
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use

pytestmark = pytest.mark.usefixtures("no_processes")

LONG = {"command": "echo x >> ran; touch begun; sleep 600"}
SECRET = "sk-live-0123456789abcdef"


async def at_work(department: Department, goal: str, *turns: Turn, **fields: Any) -> BatchReport:
    """A task in the background that has taken its turns, and waits for the next answer."""
    gate = Gate()
    department.goals.script(goal, *turns, Turn(text("half"), gate))
    report = await department.delegate(spec(goal, **fields), background=True)
    async with asyncio.timeout(PATIENCE_S):
        await gate.reached.wait()
    return report


def add_up(*turns: int) -> list[Turn]:
    return [
        Turn(text(f"step {n}"), tool_use("calculator", {"expression": f"{n}+1"}, id=f"t{n}"))
        for n in turns
    ]


async def test_work_in_the_background_goes_on_whenever_the_service_was_killed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with states_kept(tmp_path / "states", monkeypatch) as states:
        async with open_department(settings) as department:
            department.goals.script("a", *add_up(1, 2))
            await department.delegate(
                spec("a"), spec("b", after=("a",)), background=True, concurrency=1
            )
            await department.office.watcher.until("subagent_finished", name="b")
    rounds = set()
    for number, state in enumerate(states):
        left = as_left(state, settings, tmp_path / f"left{number}")
        before = tasks_of(left)
        goals = Goals()
        async with next_service(left, goals) as service:
            await all_over(service)
        where = f"after commit {number} of {len(states)}: {before}"
        assert wrong(left) == [], where
        assert [status for _, status in tasks_of(left)] == ["success"] * len(before), where
        for first in goals.asked["a"][:1]:
            rounds.add(len(first.messages) // 2)
        for first in goals.asked["b"][:1]:
            words = first.messages[0]["content"][0]["text"]
            assert "answer to a" in words, where
    assert rounds == {0, 1, 2}


async def test_it_goes_on_also_when_the_next_service_is_killed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        await at_work(department, "a", *add_up(1))
        state = states[-1]
    left = as_left(state, settings, tmp_path / "first")
    goals = Goals()
    goals.script("a", *add_up(2))
    with states_kept(tmp_path / "again", monkeypatch) as states:
        async with next_service(left, goals) as service:
            await all_over(service)
    for number, state in enumerate(states):
        again = as_left(state, settings, tmp_path / f"again{number}")
        async with next_service(again, Goals()) as service:
            await all_over(service)
        assert wrong(again) == [], f"after commit {number} of {len(states)}"
        assert tasks_of(again) == [("a", "success")]
        calls = [e for e in events_of(again) if e["type"] == "tool_call_started"]
        assert len({e["tool_call_id"] for e in calls}) == len(calls) <= 2


async def test_a_call_that_had_begun_is_reported_as_interrupted_and_not_run_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    calls = [
        tool_use("calculator", {"expression": "6*7"}, id="t1"),
        tool_use("bash", LONG, id="t2"),
        tool_use("bash", {"command": "echo x >> ran"}, id="t3"),
    ]
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        department.goals.script("a", Turn(*calls))
        await department.delegate(spec("a"), background=True)
        await until((settings.workspace_dir / "begun").exists)
        await department.office.runtime.db.flush()
        state = states[-1]
        await department.delegation.cancel(
            (await department.delegation.reports(session_id=None))[0].batch_id, session_id=None
        )
    left = as_left(state, settings, tmp_path / "left")
    goals = Goals()
    async with next_service(left, goals) as service:
        await all_over(service)
    results = reported(goals.asked["a"][0])
    assert results["t1"] == "42"
    assert results["t2"] == INTERRUPTED
    assert not (left.workspace_dir / "ran").exists()
    assert wrong(left) == []
    events = events_of(left)
    (resumed,) = (e for e in events if e["type"] == "run_resumed")
    (started,) = (e for e in events if e["type"] == "subagent_started")
    assert resumed["run_id"] == started["child_run_id"]
    assert "t2" in resumed["interrupted"]
    ended = {e["tool_call_id"]: e["status"] for e in events if e["type"] == "tool_call_completed"}
    assert (ended["t1"], ended["t2"]) == ("success", "interrupted")
    # It may have begun beside the second.
    reported_as = {None: NOT_RUN, "interrupted": INTERRUPTED, "success": "Exit code: 0"}
    assert results["t3"] == reported_as[ended.get("t3")]


async def test_an_orderly_stop_leaves_work_in_the_background_to_the_next_service(
    settings: Settings,
):
    async with open_department(settings) as department:
        await at_work(department, "a", *add_up(1))
        await department.delegation.broadcast("Hurry.", session_id=department.session.id)
        await department.delegation.close()
        assert department.office.watcher.of("subagent_finished") == []
    assert tasks_of(settings) == [("a", "running")]
    goals = Goals()
    async with next_service(settings, goals) as service:
        await all_over(service)
    assert wrong(settings) == []
    first = goals.asked["a"][0]
    assert reported(first) == {"t1": "2"}
    assert "Hurry." in str(first.messages[-1])


async def test_a_request_that_was_cut_off_is_no_round(settings: Settings):
    async with open_department(settings) as department:
        await at_work(department, "a", max_rounds=1)
        await department.delegation.broadcast("Hurry.", session_id=department.session.id)
        await department.delegation.close()
    goals = Goals()
    async with next_service(settings, goals) as service:
        await all_over(service)
    assert tasks_of(settings) == [("a", "success")]
    assert len(goals.asked["a"]) == 1


async def test_it_goes_on_with_the_words_it_was_given_and_forgets_them_in_the_end(
    settings: Settings,
):
    async with open_department(settings) as department:
        department.office.runtime.redactor.learn("test", [SECRET])
        goal = f"use {SECRET}"
        await at_work(department, goal, *add_up(1), label="a")
        await department.delegation.close()
        events = department.office.watcher.events
        assert SECRET not in str([e for e in events if "delta" not in e["type"]])
    goals = Goals()
    async with next_service(settings, goals) as service:
        service.redactor.learn("test", [SECRET])
        await all_over(service)
    assert len(goals.asked[goal]) == 1
    for table in ("delegation_batches", "delegated_tasks"):
        assert SECRET not in str(rows_of(settings, f"SELECT * FROM {table}"))


STOPS = {
    "the run was stopped": "UPDATE runs SET status = 'cancelled' WHERE id = 'run_parent'",
    "it killed the service again and again": (
        f"UPDATE delegated_tasks SET progress = json_set(progress, '$.tries', {MOST_TRIES})"
    ),
    "what is kept cannot be read": "UPDATE delegated_tasks SET progress = '{}'",
    "its agent is gone": (
        "UPDATE delegation_batches SET parent = json_set(parent, '$.agent_id', 'nobody')"
    ),
    "nothing is kept": "UPDATE delegation_batches SET parent = NULL",
}


@pytest.mark.parametrize("why", STOPS)
async def test_what_must_not_or_cannot_go_on_is_interrupted(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        await department.office.ask("hello", run_id="run_parent")
        await at_work(department, "a", *add_up(1))
        state = states[-1]
    left = as_left(state, settings, tmp_path / "left")
    changed(left, STOPS[why])
    goals = Goals()
    async with next_service(left, goals) as service:
        await all_over(service)
    assert "a" not in goals.asked
    assert tasks_of(left) == [("a", "interrupted")]
    assert wrong(left) == []
    (ended,) = (e for e in events_of(left) if e["type"] == "subagent_finished")
    assert (ended["status"], ended["summary"]) == ("interrupted", "step 1")


async def test_it_may_kill_the_service_three_times(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        await at_work(department, "a")
        state = states[-1]
    for number in range(MOST_TRIES + 1):
        left = as_left(state, settings, tmp_path / f"left{number}")
        goals = Goals()
        goals.script("a", Turn(text("half"), Gate()))
        with states_kept(tmp_path / f"states{number}", monkeypatch) as states:
            async with next_service(left, goals):
                if number < MOST_TRIES:
                    await until(lambda: goals.asked["a"])  # noqa: B023
                    state = states[-1]
    assert "a" not in goals.asked
    assert tasks_of(left) == [("a", "interrupted")]
    assert wrong(left) == []


async def test_what_kills_the_service_before_it_begins_is_not_tried_for_ever(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        await at_work(department, "a")
    copies = [
        as_left(state, settings, tmp_path / f"left{number}") for number, state in enumerate(states)
    ]
    left = next(copy for copy in copies if tasks_of(copy) == [("a", "waiting")])
    for tries in range(MOST_TRIES):
        with states_kept(tmp_path / f"states{tries}", monkeypatch) as states:
            async with next_service(left, Goals()) as service:
                await all_over(service)
        copies = [
            as_left(state, settings, tmp_path / f"left{tries}-{number}")
            for number, state in enumerate(states)
        ]
        tried = f"SELECT 1 FROM delegated_tasks WHERE progress LIKE '%\"tries\":{tries + 1},%'"
        left = next(
            copy for copy in copies if tasks_of(copy) == [("a", "waiting")] and rows_of(copy, tried)
        )
    goals = Goals()
    async with next_service(left, goals) as service:
        await all_over(service)
    assert "a" not in goals.asked
    assert tasks_of(left) == [("a", "interrupted")]
    assert wrong(left) == []


async def test_what_a_token_began_ends_when_that_is_revoked(settings: Settings):
    async with open_department(settings) as department:
        department.payers[department.session.id] = (QuotaSubject("tok_gone"), True)
        await at_work(department, "a")
        await department.delegation.close()
    goals = Goals()
    async with next_service(settings, goals) as service:
        await all_over(service)
    assert "a" not in goals.asked
    assert tasks_of(settings) == [("a", "interrupted")]


async def test_what_was_asked_to_stop_is_stopped_by_the_next_service(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept: list[Any] = []
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        for label in ("a", "b"):
            department.goals.script(label, Turn(text("half"), Gate()))
        await department.delegate(spec("a"), spec("b"), background=True)
        await department.office.watcher.until("text_delta", 2)
        state = states[-1]
        db = department.office.runtime.db
        append = db.append

        def seen(statement: Statement, row: Any) -> int:
            kept.append(row)
            return append(statement, row)

        with monkeypatch.context() as patched:
            patched.setattr(db, "append", seen)
            department.delegation.run_cancelled("run_parent")
    # Before anything else happens it stands there that both are to stop.
    assert [orjson.loads(row[-2])["stopped_as"] for row in kept] == ["cancelled"] * 2
    left = as_left(state, settings, tmp_path / "left")
    changed(
        left,
        "UPDATE delegated_tasks SET progress = json_set(progress, '$.stopped_as', 'cancelled')"
        " WHERE label = 'a'",
    )
    goals = Goals()
    async with next_service(left, goals) as service:
        await all_over(service)
    assert tasks_of(left) == [("a", "cancelled"), ("b", "success")]
    assert "a" not in goals.asked
    assert wrong(left) == []


async def test_who_waited_in_the_foreground_is_gone_and_so_is_the_work(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with cut(settings, tmp_path / "states", monkeypatch) as (department, states):
        department.goals.script("a", Turn(text("half"), Gate()))
        waiting = asyncio.create_task(department.delegate(spec("a")))
        await department.office.watcher.until("text_delta")
        state = states[-1]
        waiting.cancel()
        await asyncio.wait({waiting})
    left = as_left(state, settings, tmp_path / "left")
    async with next_service(left, Goals()) as service:
        await all_over(service)
    assert tasks_of(left) == [("a", "interrupted")]
    assert wrong(left) == []


async def test_what_moves_to_the_background_goes_on_too(settings: Settings):
    async with open_department(settings) as department:
        department.goals.script("a", Turn(text("half"), Gate()))
        first = asyncio.create_task(department.delegate(spec("a")))
        await department.office.watcher.until("text_delta")
        await department.delegate(spec("a"), background=True)
        first.cancel()
        await asyncio.wait({first})
        await department.delegation.close()
    async with next_service(settings, Goals()) as service:
        await all_over(service)
    assert tasks_of(settings) == [("a", "success")]
    assert wrong(settings) == []


async def test_a_revived_batch_counts_as_one_and_can_be_found_and_stopped(settings: Settings):
    async with open_department(settings) as department:
        await department.office.runtime.agents.create(AgentProfile(id="lead"), actor="ann")
        department.goals.script("a", Turn(text("half"), Gate()))
        report = await department.delegate(
            spec("a"), background=True, context=department.context(agent_id="lead")
        )
        await department.office.watcher.until("text_delta")
        await department.delegation.close()
    goals = Goals()
    goals.script("a", Turn(text("half"), Gate()))
    async with next_service(settings, goals) as service:
        found = await service.delegation.report(report.batch_id, session_id=report.session_id)
        assert (found.status, found.background) == ("running", True)
        stopped = await service.delegation.cancel(report.batch_id, session_id=report.session_id)
        assert stopped.status == "cancelled"
        await all_over(service)
    assert tasks_of(settings) == [("a", "cancelled")]
    assert wrong(settings) == []
