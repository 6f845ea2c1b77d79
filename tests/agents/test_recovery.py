"""After a crash: what was under way is told as interrupted, once, and never run again."""

from __future__ import annotations

import asyncio
import os

import orjson
import pytest

from app.agents.progress import RunProgress
from app.agents.recovery import Recovered
from app.agents.restart_policy import CLOSING, RestartPolicy, ResumeOnRestart
from app.bootstrap.agents import agent_parts, recovery_of
from app.bootstrap.container import Runtime
from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.core import process
from app.db.statements import ADD_RUN, KEEP_BATCH, KEEP_PROGRESS
from app.events.durable import RunStarted
from tests.agents.office import Office, open_office
from tests.agents.suspended import ASKS, Killed, audited, events_of, killed
from tests.execution.lab import PATIENCE_S, open_lab
from tests.support.scripted_anthropic.turns import Turn, text

LONG = ("c1", "bash", {"command": "echo x >> ran; touch begun; sleep 600"})
QUICK = ("c3", "calculator", {"expression": "6*7"})


async def killed_at_work(settings: Settings) -> Killed:
    """A process that died while a call with side effects ran and another was over."""
    return await killed(settings, LONG, QUICK, trace=True, until={"tool_call_completed": 1})


async def test_a_killed_process_leaves_interrupted_runs_and_calls_with_their_events(
    settings: Settings,
):
    left = await killed_at_work(settings)
    async with open_service(settings) as service:
        events = await events_of(service.archive, left.session_id)
        kinds = [(e["type"], e.get("tool_call_id"), e.get("status")) for e in events]
        ended = [kind[1:] for kind in kinds if kind[0] == "tool_call_completed"]
        assert ended == [("c3", "success"), ("c1", "interrupted")]
        assert kinds[-1] == ("run_finished", None, "interrupted")
        run = await service.archive.run(left.run_id)
        assert run is not None
        assert run.status == "interrupted"
        calls = {c.tool_call_id: c.status for c in await service.archive.calls(left.session_id)}
        assert calls == {"c1": "interrupted", "c3": "success"}
        assert service.runs.active(left.session_id) is None
    assert left.ran == "x"
    async with open_service(settings) as service:
        assert await events_of(service.archive, left.session_id) == events


async def test_the_audit_tells_once_that_a_call_was_interrupted(settings: Settings):
    await killed_at_work(settings)
    for _ in range(2):
        async with open_service(settings):
            pass
    quick, long = await audited(settings, "call.finished")
    assert quick[:4] == ("call.finished", "calculator", "allow", "success")
    assert long[:4] == ("call.finished", "bash", "allow", "interrupted")
    assert long[4] == {"tool_call_id": "c1", "code": "interrupted", "args": LONG[2]}


async def test_the_audit_keeps_that_an_interrupted_call_had_asked(settings: Settings):
    # A terminal's question dies with it.
    await killed(settings, ("c1", "bash", {"command": ASKS}), caller="cli")
    async with open_service(settings):
        pass
    kinds = ("call.decided", "confirmation.answered", "call.finished")
    reported = [row[:4] for row in await audited(settings, *kinds)]
    assert reported == [
        ("call.decided", "bash", "ask", None),
        ("confirmation.answered", "bash", None, "cancelled"),
        ("call.finished", "bash", "ask", "interrupted"),
    ]


async def test_the_session_of_a_killed_run_goes_on(settings: Settings):
    session_id = (await killed_at_work(settings)).session_id
    async with open_office(settings, Turn(text("I see."))) as office:
        session = await office.service.sessions.get(session_id)
        assert session is not None
        reopened = Office(office.service, office.provider, session, office.watch(session))
        assert (await reopened.ask("what happened?"))["status"] == "success"
        assert office.provider.refused == []


async def recover(runtime: Runtime, policy: RestartPolicy = CLOSING) -> Recovered:
    return await recovery_of(runtime, agent_parts(runtime)).recover(policy)


async def test_runs_of_a_process_that_lives_are_left_alone(settings: Settings):
    async with open_lab(settings) as lab:
        for number, owner in enumerate((process.identity(), "1-0", None)):
            row = (f"run_{number}", lab.session.id, "direct", "running")
            lab.runtime.db.append(ADD_RUN, (*row, None, None, None, owner, "2026-01-01"))
            lab.session.log.emit(RunStarted, run_id=f"run_{number}", trigger="direct")
        assert (await recover(lab.runtime)).closed == 2
        rows = await lab.rows("SELECT id, status FROM runs ORDER BY id")
        assert rows == [("run_0", "running"), ("run_1", "interrupted"), ("run_2", "interrupted")]
        async with asyncio.timeout(PATIENCE_S):
            await lab.watcher.until("run_finished", count=2)
        assert (await recover(lab.runtime)).closed == 0


async def test_a_sub_agents_run_is_closed_and_never_goes_on_alone(settings: Settings):
    async with open_lab(settings) as lab:
        log, ids = lab.session.log, {"run_id": "run_c", "tool_call_id": "c1"}
        about = {**ids, "operation_id": "op_1", "parent_tool_call_id": "c0"}
        row = ("run_c", lab.session.id, "delegation", "running", None, None, "run_p", "1-0")
        lab.runtime.db.append(ADD_RUN, (*row, "2026-01-01"))
        reported = {**about, "tool_name": "bash", "title": "b", "kind": "execute", "args": {}}
        log.append("tool_call_started", orjson.dumps(reported).decode()[1:])
        kept = {
            "calls": [["c1", "bash", {"command": "x"}, "op_1"]],
            "max_workers": None,
            "message_id": "msg_1",
            "caller": "agent",
            "attended": True,
            "cacheable": True,
            "user_id": None,
            "token_id": None,
            "limits": None,
            "progress": None,
        }
        lab.runtime.db.append(KEEP_BATCH, (orjson.dumps(kept).decode(), "run_c"))
        lab.runtime.db.append(KEEP_PROGRESS, (RunProgress().stored(), "run_c"))
        await lab.runtime.db.flush()
        found = await recover(lab.runtime, ResumeOnRestart(lab.runtime.db, lab.runtime.deferred))
        assert (found.closed, found.suspended, found.cut) == (1, (), ())
        ended = await lab.watcher.until("tool_call_completed")
        assert (ended["status"], ended["parent_tool_call_id"]) == ("interrupted", "c0")
        assert await lab.rows("SELECT status FROM runs") == [("interrupted",)]
        assert lab.watcher.of("run_finished") == []


@pytest.mark.parametrize("claim", ["", "x-1", "0-0", "{}-1", "999999999-5"])
def test_only_the_process_that_made_a_name_bears_it(claim: str):
    claim = claim.format(os.getpid())
    assert process.is_alive(claim) is False
    assert process.is_alive(process.identity()) is True


def test_a_process_of_another_boot_is_gone_whatever_its_number_and_its_time() -> None:
    pid, start, boot = process.identity().split("-", 2)
    assert process.is_alive(f"{pid}-{start}-{boot}") is True
    assert process.is_alive(f"{pid}-{start}-0b5e3f4a-another-boot") is False
    assert process.is_alive(f"{pid}-{start}") is False
