"""After a crash: what was under way is told as interrupted, once, and never run again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import orjson
import pytest

from app.agents.archive import Archive
from app.agents.recovery import recover
from app.core import process
from app.core.settings import Settings
from app.db.statements import ADD_RUN
from app.events.durable import RunStarted
from app.main import open_service
from tests.agents.office import Office, open_office
from tests.execution.lab import PATIENCE_S, open_lab
from tests.support.scripted_anthropic.turns import Turn, text
from tests.support.source import ROOT

# A run with a call that has side effects, one that waits for a person, and one that is over.
VICTIM = """
import asyncio, sys
from pathlib import Path
from app.agents.content import user_content
from app.execution.calls import CallRequest
from app.main import open_service
from tests.execution.lab import WRITES, AnyArgs, Watcher, made, settings_for

async def main(data_dir):
    settings = settings_for(Path(data_dir), Path(data_dir))
    async with open_service(settings) as service:
        started = asyncio.Event()
        async def change(args: AnyArgs, ctx):
            (settings.data_dir / "ran").open("a").write("x")
            started.set()
            await asyncio.Event().wait()
        async def asks(args: AnyArgs, ctx):
            return "x"
        async def quick(args: AnyArgs, ctx):
            return "x"
        service.gate.registry.register(made(change, **WRITES))
        service.gate.registry.register(made(asks, requires_confirmation=True, **WRITES))
        service.gate.registry.register(made(quick))
        session = service.sessions.create(user_id="ann", project_id="default")
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        run = await service.runs.call_tools(
            session,
            [CallRequest("c1", "change", {}), CallRequest("c2", "asks", {}),
             CallRequest("c3", "quick", {})],
            caller="rest",
        )
        await started.wait()
        await watcher.until("tool_confirmation_request")
        await watcher.until("tool_call_completed")
        await service.gate.ledger.durable()
        print(session.id, run.id, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(sys.argv[1]))
"""


async def killed(settings: Settings) -> tuple[str, str]:
    """Run the victim in `settings.data_dir` and kill it; ids of its session and its run."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        VICTIM,
        str(settings.data_dir),
        stdout=asyncio.subprocess.PIPE,
        cwd=settings.data_dir,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    async with asyncio.timeout(60):
        line = await child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    await child.wait()
    session_id, run_id = line.decode().split()
    return session_id, run_id


async def events_of(archive: Archive, session_id: str) -> list[dict[str, Any]]:
    row = await archive.session_row(session_id)
    assert row is not None
    found = await archive.events(session_id, row.epoch, after=0)
    assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
    return [orjson.loads(body) for _, body in found]


async def test_a_killed_process_leaves_interrupted_runs_and_calls_with_their_events(
    settings: Settings,
):
    session_id, run_id = await killed(settings)
    async with open_service(settings) as service:
        events = await events_of(service.archive, session_id)
        kinds = [(e["type"], e.get("tool_call_id"), e.get("status")) for e in events]
        resolved = [e for e in events if e["type"] == "tool_confirmation_resolved"]
        assert [(e["tool_call_id"], e["outcome"]) for e in resolved] == [("c2", "cancelled")]
        ended = [kind[1:] for kind in kinds if kind[0] == "tool_call_completed"]
        assert ended == [("c3", "success"), ("c1", "interrupted"), ("c2", "interrupted")]
        assert kinds[-1] == ("run_finished", None, "interrupted")
        run = await service.archive.run(run_id)
        assert run is not None
        assert run.status == "interrupted"
        calls = {c.tool_call_id: c.status for c in await service.archive.calls(session_id)}
        assert calls == {"c1": "interrupted", "c2": "interrupted", "c3": "success"}
        confirmation = resolved[0]["confirmation_id"]
        stored = await service.archive.confirmation(confirmation)
        assert stored is not None
        assert stored.status == "cancelled"
        assert service.runs.active(session_id) is None
    assert (settings.data_dir / "ran").read_text(encoding="utf-8") == "x"
    async with open_service(settings) as service:
        assert await events_of(service.archive, session_id) == events


async def test_the_session_of_a_killed_run_goes_on(settings: Settings):
    session_id, _ = await killed(settings)
    async with open_office(settings, Turn(text("I see."))) as office:
        session = await office.service.sessions.get(session_id)
        assert session is not None
        reopened = Office(office.service, office.provider, session, office.watch(session))
        assert (await reopened.ask("what happened?"))["status"] == "success"
        assert office.provider.refused == []


async def test_runs_of_a_process_that_lives_are_left_alone(settings: Settings):
    async with open_lab(settings) as lab:
        for number, owner in enumerate((process.identity(), "1-0", None)):
            row = (f"run_{number}", lab.session.id, "direct", "running")
            lab.gate.ledger.append(ADD_RUN, (*row, None, None, None, owner, "2026-01-01"))
            lab.session.log.emit(RunStarted, run_id=f"run_{number}", trigger="direct")
        assert await recover(lab.gate) == 2
        rows = await lab.rows("SELECT id, status FROM runs ORDER BY id")
        assert rows == [("run_0", "running"), ("run_1", "interrupted"), ("run_2", "interrupted")]
        async with asyncio.timeout(PATIENCE_S):
            await lab.watcher.until("run_finished", count=2)
        assert await recover(lab.gate) == 0


@pytest.mark.parametrize("claim", ["", "x-1", "0-0", f"{os.getpid()}-1", "999999999-5"])
def test_only_the_process_that_made_a_name_bears_it(claim: str):
    assert process.is_alive(claim) is False
    assert process.is_alive(process.identity()) is True
