"""The program that `parked` kills: it follows a plan, prints its session and run, and waits.

python -m tests.agents.victim DATA_DIR PLAN
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from app.agents.content import user_content
from app.bootstrap.service import open_service
from app.execution.calls import CallRequest
from tests.execution.lab import Watcher, settings_for


async def main(data_dir: str, words: str) -> None:
    """Follow the plan, then wait for ever."""
    plan = json.loads(words)
    settings = settings_for(Path(data_dir), Path(data_dir), **plan["settings"])
    async with open_service(settings) as service:
        session = service.sessions.create(user_id="ann", project_id="default")
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        if plan["calls"]:
            requests = [CallRequest(*call) for call in plan["calls"]]
            run = await service.runs.call_tools(
                session, requests, caller=plan["caller"], max_workers=plan["workers"]
            )
            run_id = run.id
        else:
            run_id, _ = await service.runs.send_message(session, user_content("go on"))
        for kind, count in plan["until"].items():
            await watcher.until(kind, count=count)
        for message in plan["queued"]:
            await service.runs.send_message(session, user_content(message), when_busy="queue")
        trace = settings.workspace_dir / "begun"
        while plan["trace"] and not trace.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        await service.db.flush()
        print(session.id, run_id, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
