"""What was approved is decided once more, right before it runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.governance.agents import read_profile
from tests.execution.lab import WRITES, AnyArgs, Lab, made


def start(lab: Lab, command: str, **changes: Any) -> Any:
    request = CallRequest("c1", "bash", {"command": command})
    return asyncio.create_task(lab.run(request, **changes))


async def outcome(task: Any) -> CallOutcome:
    (found,) = await task
    assert isinstance(found, CallOutcome)
    return found


async def add_rule(lab: Lab, decision: str) -> None:
    body = {
        "tool": "bash",
        "match": {"argv": ["rm", "..."]},
        "decision": decision,
        "justification": "not here",
    }
    await lab.runtime.rules.create(body, actor="root")


async def test_a_rule_that_denies_meanwhile_wins_over_the_approval(house: Lab):
    running = start(house, "rm -f nothing")
    await house.watcher.until("tool_confirmation_request")
    await add_rule(house, "deny")
    await house.answer("approve_once")
    found = await outcome(running)
    assert found.status == "denied"
    assert "not here" in found.text
    assert await house.rows("SELECT consumed_at IS NOT NULL, call FROM confirmations") == [
        (1, "{}")
    ]


async def test_a_rule_that_asks_meanwhile_asks_for_its_own_reason(house: Lab):
    running = start(house, "rm -f nothing")
    first = await house.watcher.until("tool_confirmation_request")
    await add_rule(house, "ask")
    await house.answer("approve_once", first)
    second = await house.watcher.until("tool_confirmation_request", count=2)
    assert "not here" in str(second["risk"]["rules"])
    await house.answer("decline", second)
    assert (await outcome(running)).status == "declined"


async def test_a_change_elsewhere_voids_no_approval(house: Lab):
    running = start(house, "rm -f nothing")
    await house.watcher.until("tool_confirmation_request")
    await house.runtime.governance.set_enabled("calculator", enabled=False)
    await house.runtime.rules.create(
        {
            "tool": "bash",
            "match": {"argv": ["git", "..."]},
            "decision": "deny",
            "justification": "x",
        },
        actor="root",
    )
    await house.answer("approve_once")
    assert (await outcome(running)).success


async def test_a_flag_that_was_set_meanwhile_asks_again(house: Lab):
    running = start(house, "rm -f nothing")
    first = await house.watcher.until("tool_confirmation_request")
    await house.runtime.db.transact(
        lambda t: t.execute("UPDATE tools SET requires_confirmation = 1 WHERE name = 'bash'")
    )
    await house.runtime.governance.sync(house.runtime.registry.snapshot())
    await house.answer("approve_once", first)
    second = await house.watcher.until("tool_confirmation_request", count=2)
    assert second["confirmation_id"] != first["confirmation_id"]
    await house.answer("approve_once", second)
    assert (await outcome(running)).success
    assert await house.rows(
        "SELECT status, consumed_at IS NOT NULL FROM confirmations ORDER BY created_at"
    ) == [("approved", 1), ("approved", 1)]


async def test_an_agent_s_own_word_decides_what_happens_when_nobody_is_there(lab: Lab):
    async def send(args: AnyArgs, ctx: Any) -> str:
        return "sent"

    lab.add(made(send, requires_confirmation=True, **WRITES))
    for name, way in (("parks", "suspend"), ("denies", "deny")):
        profile = read_profile(name, {"unattended": way})
        await lab.runtime.agents.create(profile, actor="root")
    request = CallRequest("c1", "send", {})
    denied = await lab.run(request, attended=False, agent_id="denies")
    assert denied[0].result.code == "unattended"
    waiting = asyncio.create_task(lab.run(request, attended=False, agent_id="parks"))
    await lab.watcher.until("tool_confirmation_request")
    await lab.answer("approve_once")
    assert (await outcome(waiting)).success


class Doors:
    """Calls of `hold` stay inside until the door is opened."""

    def __init__(self, lab: Lab) -> None:
        self.entered, self.open = asyncio.Event(), asyncio.Event()

        async def hold(args: AnyArgs, ctx: Any) -> None:
            self.entered.set()
            await self.open.wait()

        lab.add(made(hold))


async def behind(house: Lab, doors: Doors, command: str, workers: int) -> Any:
    """A command that waits behind calls which keep every worker of its batch."""
    held = [CallRequest(f"h{n}", "hold", {"number": n}) for n in range(workers)]
    calls = [*held, CallRequest("c1", "bash", {"command": command})]
    running = asyncio.create_task(house.run(*calls, workers=workers))
    await doors.entered.wait()
    if workers > 1:
        await house.watcher.until("tool_call_started", tool_call_id="c1")
    return running


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("change", ["deny", "off"])
async def test_what_was_forbidden_while_the_rest_of_the_batch_ran_is_not_run(
    house: Lab, workers: int, change: str
):
    doors = Doors(house)
    running = await behind(house, doors, "touch trace", workers)
    if change == "off":
        await house.runtime.governance.set_enabled("bash", enabled=False)
    else:
        body = {"tool": "bash", "decision": "deny", "justification": "not here"}
        await house.runtime.rules.create(body, actor="root")
    doors.open.set()
    outcomes = await running
    assert outcomes[-1].status == {"off": "disabled", "deny": "denied"}[change]
    project = house.context["project"]
    assert not (Path(project.root) / "trace").exists()


async def test_what_asks_since_then_is_asked_in_a_row_and_refused_in_a_crowd(house: Lab):
    doors = Doors(house)
    running = await behind(house, doors, "rmdir nothing", 1)
    doors.open.set()
    await house.answer("decline")
    assert (await running)[-1].status == "declined"
    doors.entered.clear()
    doors.open.clear()
    running = await behind(house, doors, "touch trace", 2)
    body = {"tool": "bash", "decision": "ask", "justification": "show me"}
    await house.runtime.rules.create(body, actor="root")
    doors.open.set()
    last = (await running)[-1]
    assert (last.status, last.result.code) == ("denied", "decision_changed")
    running = await behind(house, doors, "touch trace", 1)
    await house.answer("decline", await house.watcher.until("tool_confirmation_request", count=2))
    assert (await running)[-1].status == "declined"


async def test_a_grant_that_was_revoked_while_the_call_waited_covers_it_no_more(house: Lab):
    first = start(house, "rm -f nothing")
    await house.answer("approve_session")
    assert (await outcome(first)).success
    doors = Doors(house)
    running = await behind(house, doors, "rm -f nothing", 2)
    (grant,) = house.runtime.grants.snapshot
    await house.runtime.grants.revoke(grant.id, by="root")
    doors.open.set()
    last = (await running)[-1]
    assert (last.status, last.result.code) == ("denied", "decision_changed")
