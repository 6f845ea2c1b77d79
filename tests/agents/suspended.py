"""A service in a process of its own that asks a person and then is killed."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import dataclass
from typing import Any

import orjson

from app.agents.session_queries import SessionQueries
from app.api.service import Service
from app.config.settings import Settings
from app.execution.confirmation.answers import ConfirmationReply
from app.governance.approvals.approver import Approver
from tests.execution.lab import PATIENCE_S, Watcher, open_lab
from tests.support import forked
from tests.support.source import ROOT

# It asks because of `rm`, and leaves a trace of every time it runs.
ASKS = "rm -f nothing; echo x >> ran"


@dataclass
class Killed:
    """What a killed process left behind."""

    settings: Settings
    session_id: str
    run_id: str

    @property
    def ran(self) -> str:
        """One `x` for each time the command ran."""
        trace = self.settings.workspace_dir / "ran"
        return trace.read_text(encoding="utf-8").replace("\n", "") if trace.exists() else ""


async def killed(
    settings: Settings,
    *calls: tuple[str, str, dict[str, Any]],
    caller: str = "rest",
    workers: int | None = None,
    queued: tuple[str, ...] = (),
    trace: bool = False,
    until: dict[str, int] | None = None,
    **changes: Any,
) -> Killed:
    """Run calls, or a model's turn when there are none, and kill the process while it waits."""
    plan = {
        "calls": calls,
        "caller": caller,
        "workers": workers,
        "queued": queued,
        "trace": trace,
        "until": until or {"tool_confirmation_request": 1},
        "settings": changes,
    }
    child = forked.start(
        [str(settings.data_dir), orjson.dumps(plan).decode()],
        module="tests.agents.victim",
        cwd=settings.data_dir,
        environment={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        line = await asyncio.to_thread(child.stdout.readline)
    child.kill()
    await asyncio.to_thread(child.communicate)
    session_id, run_id = line.split()
    return Killed(settings, session_id, run_id)


async def watched(service: Service, session_id: str) -> Watcher:
    """Eyes on a session of a service that has just begun."""
    session = await service.sessions.get(session_id)
    assert session is not None
    watcher = Watcher()
    session.log.subscribers.add(watcher)
    return watcher


async def answer(service: Service, session_id: str, option_id: str = "approve_once") -> str:
    """Answer the one question that is open."""
    (asked,) = service.confirmations.pending(session_id)
    return await service.confirmations.answer(
        asked["confirmation_id"], ConfirmationReply(option_id, asked["digest"]), Approver("ann")
    )


async def events_of(archive: SessionQueries, session_id: str) -> list[dict[str, Any]]:
    """Every event of a session, without a gap."""
    row = await archive.session_row(session_id)
    assert row is not None
    found = await archive.events(session_id, row.epoch, after=0)
    assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
    return [orjson.loads(body) for _, body in found]


async def run_is_over(service: Service, session_id: str) -> None:
    """Wait until the session's run has ended and that is on disk."""
    async with asyncio.timeout(PATIENCE_S):
        run = service.runs.active(session_id)
        if run is not None:
            await run.done
        await service.db.flush()


async def audited(settings: Settings, *kinds: str) -> list[tuple[Any, ...]]:
    """Kind, tool, verdict, outcome and detail of the rows of these kinds, in order."""
    async with open_lab(settings) as lab:
        rows = await lab.rows(
            "SELECT kind, tool_name, verdict, outcome, detail FROM audit ORDER BY seq"
        )
    return [(*row[:-1], orjson.loads(row[-1])) for row in rows if row[0] in kinds]
