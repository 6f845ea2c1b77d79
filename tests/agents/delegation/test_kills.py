"""A service that is killed after any of its commits, and what the next one makes of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.core.errors import StorageUnavailable
from app.db.delegation_statements import SAVE_TASK
from tests.agents.delegation.department import Department, open_department, spec
from tests.agents.delegation.states import as_left, events_of, rows_of, states_kept, wrong
from tests.support.scripted_anthropic.turns import Turn, text, tool_use


async def _worked(settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The states of a service in which one batch of two was worked on, the second after a call."""
    with states_kept(folder, monkeypatch) as states:
        async with open_department(settings) as department:
            department.goals.script("b", Turn(tool_use("calculator", {"expression": "1+1"})))
            report = await department.delegate(spec("a"), spec("b", after=("a",)))
            assert report.status == "success"
    return states


async def test_every_start_has_one_end_whenever_the_service_was_killed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen = set()
    states = await _worked(settings, tmp_path / "states", monkeypatch)
    for number, state in enumerate(states):
        left = as_left(state, settings, tmp_path / f"left{number}")
        before = rows_of(left, "SELECT status FROM delegated_tasks ORDER BY position")
        async with open_service(left):
            pass
        assert wrong(left) == [], f"after commit {number} of {len(states)}: {before}"
        seen.update(before)
    assert seen == {("waiting",), ("running",), ("success",)}


async def test_an_end_is_reported_once_also_when_the_next_service_is_killed_too(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    states = await _worked(settings, tmp_path / "states", monkeypatch)
    running = [
        state
        for number, state in enumerate(states)
        if ("running",)
        in rows_of(
            as_left(state, settings, tmp_path / f"look{number}"),
            "SELECT status FROM delegated_tasks",
        )
    ]
    left = as_left(running[0], settings, tmp_path / "first")
    with states_kept(tmp_path / "again", monkeypatch) as recovering:
        async with open_service(left):
            pass
    statuses = []
    for number, state in enumerate(recovering):
        again = as_left(state, settings, tmp_path / f"again{number}")
        statuses += rows_of(again, "SELECT status FROM delegation_batches")
        async with open_service(again):
            pass
        assert wrong(again) == [], f"after commit {number} of {len(recovering)}"
        (ended,) = (e for e in events_of(again) if e["type"] == "subagent_finished")
        assert (ended["name"], ended["status"]) == ("a", "interrupted")
    assert ("running",) in statuses


async def test_an_end_that_the_database_does_not_take_is_written_when_it_does(
    department: Department, monkeypatch: pytest.MonkeyPatch
):
    db = department.office.runtime.db
    append, refused = db.append, asyncio.Event()

    def full(statement, row):
        if statement is SAVE_TASK and row[0] == "success":
            refused.set()
            raise StorageUnavailable("The disk is full")
        return append(statement, row)

    with monkeypatch.context() as patched:
        patched.setattr(db, "append", full)
        working = asyncio.create_task(department.delegate(spec("a")))
        await refused.wait()
    assert (await working).status == "success"
    await db.flush()
    session = department.session
    (stored,) = await db.transact(
        lambda t: t.fetch("SELECT t.status, b.status FROM delegated_tasks t, delegation_batches b")
    )
    assert stored == ("success", "success")
    assert len(department.office.watcher.of("subagent_finished")) == 1
    assert not session.log.holders


async def test_a_service_that_stops_does_not_wait_for_a_database_that_takes_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    async with open_department(settings) as department:
        db = department.office.runtime.db
        append, refused = db.append, asyncio.Event()

        def full(statement, row):
            if statement is SAVE_TASK and row[0] == "success":
                refused.set()
                raise StorageUnavailable("The disk is full")
            return append(statement, row)

        department.goals.script("a", Turn(text("done")))
        with monkeypatch.context() as patched:
            patched.setattr(db, "append", full)
            await department.delegate(spec("a"), background=True)
            await refused.wait()
            async with asyncio.timeout(60):
                await department.delegation.close()
    left = as_left(settings.database_path, settings, settings.data_dir.parent / "left")
    async with open_service(left):
        pass
    assert wrong(left) == []
    (ended,) = (e for e in events_of(left) if e["type"] == "subagent_finished")
    assert (ended["status"], ended["summary"]) == ("success", "done")  # its answer was kept
