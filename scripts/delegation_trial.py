"""Fifty sub-agents of ten sessions in a whole service, with randomly killed workers.

    python -m scripts.delegation_trial [--sessions 10] [--tasks 5] [--kills 10] [--seed 1]

Prints one line of JSON. Exit code 1 if something hung, an end was not reported, or too many
processes ran.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.agents.content import user_content  # noqa: E402
from app.agents.models.protocol import Completed, ModelEvent, ModelRequest, TokenUsage  # noqa: E402
from app.agents.sessions import Session  # noqa: E402
from app.api.service import Service  # noqa: E402
from app.bootstrap.service import open_service  # noqa: E402
from app.config.settings import load_settings  # noqa: E402

LIMIT_S = 300
_ROUNDS = 4


class Script:
    """The main agent delegates; each sub-agent reads three times and answers. Deliberately slow."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        await asyncio.sleep(0.05)
        results = sum(
            block.get("type") == "tool_result"
            for message in request.messages
            for block in message["content"]
        )
        is_child = "You are a sub-agent" in request.system
        text = f"answer after {results}"
        if results >= (_ROUNDS - 1 if is_child else 1):
            yield Completed(
                [{"type": "text", "text": text}], "end_turn", TokenUsage(10, 5), "script"
            )
            return
        self._calls += 1
        use: dict[str, Any] = {"type": "tool_use", "id": f"t{self._calls}"}
        if is_child:
            use |= {"name": "read_file", "input": {"path": f"{results}.txt"}}
        else:
            tasks = [{"goal": f"task {n}", "label": f"t{n}"} for n in range(self._tasks)]
            use |= {"name": "delegate_parallel", "input": {"tasks": tasks}}
        content = [{"type": "text", "text": text}, use]
        yield Completed(content, "tool_use", TokenUsage(10, 5), "script")

    async def aclose(self) -> None:
        return None


class Audience:
    """Receives every event of the sessions, and kills some of the workers in them."""

    def __init__(self, kills: int, seed: int, every: int) -> None:
        self.kinds: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.living: set[int] = set()
        self.most = 0
        self.killed: list[int] = []
        self.partial = 0
        self._by_run: dict[str, int] = {}
        self._chance = random.Random(seed)  # noqa: S311 - a trial that can be repeated
        self._victims = set(self._chance.sample(range(every), kills))
        self._started = 0

    def deliver(self, _: str, frame: Any) -> None:
        event = json.loads(frame.body)
        self.kinds[event["type"]] += 1
        if event["type"] == "subagent_started":
            pid = event["worker_pid"]
            self._by_run[event["child_run_id"]] = pid
            self.living.add(pid)
            self.most = max(self.most, len(self.living))
            if self._started in self._victims:
                wait = self._chance.uniform(0.0, 0.25)
                asyncio.get_running_loop().call_later(wait, self._kill, pid)
            self._started += 1
        elif event["type"] == "subagent_finished":
            self.living.discard(self._by_run[event["child_run_id"]])
            code = (event.get("error") or {}).get("code")
            self.ends[f"{event['status']}:{code}" if code else event["status"]] += 1
            self.partial += bool(code == "worker_lost" and event.get("summary"))

    def _kill(self, pid: int) -> None:
        if pid in self.living:
            os.kill(pid, signal.SIGKILL)
            self.killed.append(pid)


async def _trial(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tollgate-trial-") as folder:
        settings = load_settings(data_dir=Path(folder), log_level="error")
        settings.workspace_dir.mkdir(parents=True)
        for number in range(_ROUNDS):
            (settings.workspace_dir / f"{number}.txt").write_text(f"file {number}\n")
        audience = Audience(options.kills, options.seed, options.sessions * options.tasks)
        async with open_service(settings, model=Script(options.tasks)) as service:
            sessions = [
                service.sessions.create(user_id=f"u{n}", project_id="default")
                for n in range(options.sessions)
            ]
            started = time.monotonic()
            async with asyncio.timeout(LIMIT_S):
                statuses = await asyncio.gather(
                    *(_run(service, session, audience) for session in sessions)
                )
            seconds = time.monotonic() - started
            warm = [_pss_kb(pid) for pid in _children_named("app.workers")]
        return {
            "sub_agents": options.sessions * options.tasks,
            "runs": dict(Counter(statuses)),
            "ends": dict(audience.ends),
            "killed": len(audience.killed),
            "lost_with_partial_work": audience.partial,
            "most_workers_at_once": audience.most,
            "allowed": settings.sub_agent.processes,
            "started_events": audience.kinds["subagent_started"],
            "finished_events": audience.kinds["subagent_finished"],
            "seconds": round(seconds, 1),
            "idle_worker_pss_kb": warm,
            "left_over": len(_children_named("app.workers")),
        }


async def _run(service: Service, session: Session, audience: Audience) -> str:
    session.log.subscribers.add(audience)
    await service.runs.send_message(session, user_content("do it all"))
    active = service.runs.active(session.id)
    assert active is not None
    return await active.done


def _children_named(words: str) -> list[int]:
    """Return processes whose command line contains `words`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                if words in (folder / "cmdline").read_bytes().decode("utf-8", "replace"):
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def _pss_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=5)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    report = asyncio.run(_trial(parser.parse_args()))
    sys.stdout.write(json.dumps(report) + "\n")
    whole = report["started_events"] == report["finished_events"] == report["sub_agents"]
    bounded = report["most_workers_at_once"] <= report["allowed"]
    return 0 if whole and bounded and set(report["runs"]) == {"success"} else 1


if __name__ == "__main__":
    sys.exit(main())
