"""A server is killed in the middle of a scheduled run; the next one does not begin it again."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agents.models.exchange import KEY
from tests.cli.program import PATIENCE_S
from tests.cli.test_restart import TOKEN, rest
from tests.cli.test_serve import started
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use


def schedule(url: str, **arguments: Any) -> str:
    """Make a schedule; its id."""
    body = {"arguments": {"action": "create", "prompt": "Work", **arguments}}
    answer = rest(url, "/tools/schedule_cron/call", body)
    found: str = json.loads(answer["record"]["result"])["data"]["schedule"]["id"]
    return found


def history(url: str, schedule_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rest(url, f"/admin/schedules/{schedule_id}/history")["history"]
    return found


@pytest.mark.requirement("SYS-01", "D-23")
async def test_a_run_that_was_killed_is_not_begun_a_second_time(installation: Path):
    working = Turn(tool_use("bash", {"command": "echo x >> ran; touch begun; sleep 600"}))
    async with ScriptedAnthropic(working, *[Turn(text("Done"))] * 5, api_key=KEY) as provider:
        environment = {
            "TOLLGATE_TOKEN": TOKEN,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": provider.base_url,
            "TOLLGATE_DURABLE_RUNS": "close",
        }
        workspace = installation / "workspace"
        with started(installation, before="", **environment) as (process, facts):
            first = schedule(facts["url"], at="in 1s")
            await provider.received(1)
            (slot,) = await _when_begun(facts["url"], first, workspace / "begun")
            assert (slot["status"], slot["run_status"]) == ("started", "running")
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=PATIENCE_S)
        with started(installation, before="", **environment) as (_, facts):
            second = schedule(facts["url"], at="in 1s")
            await provider.received(2)
            (slot,) = history(facts["url"], first)
            assert (slot["status"], slot["run_status"]) == ("started", "interrupted")
            assert len(history(facts["url"], second)) == 1
    assert (workspace / "ran").read_text(encoding="utf-8") == "x\n"
    assert len(provider.requests) == 2


async def _when_begun(url: str, schedule_id: str, trace: Path) -> list[dict[str, Any]]:
    """The history as soon as the command of the run has left its trace."""
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(trace.exists):
            await asyncio.to_thread(history, url, schedule_id)
    return history(url, schedule_id)
