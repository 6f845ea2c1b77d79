"""ApprovalRights that last: what is offered, what they release, and when they end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.clock import ManualClock
from app.core.errors import Forbidden, InvalidInput, NotFound
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.governance.agents import read_profile
from app.governance.approvals.approver import Approver
from app.toolkit.tool import ToolArgs
from tests.execution.lab import WRITES, AnyArgs, Event, Lab, bare_lab, made

ADMIN = Approver("root", is_admin=True)


class LoginArgs(ToolArgs):
    """Arguments with something to hide."""

    password: str


def add_send(lab: Lab) -> list[str]:
    ran: list[str] = []

    async def send(args: AnyArgs, ctx: Any) -> str:
        ran.append(args.text)
        return f"sent {args.text}"

    lab.add(made(send, requires_confirmation=True, **WRITES))
    return ran


def start(lab: Lab, call_id: str = "c1", text: str = "hi", **changes: Any) -> Any:
    changes = {"run_id": "run_1", "agent_id": None, **changes}
    request = CallRequest(call_id, "send", {"text": text})
    return asyncio.create_task(lab.run(request, **changes))


async def asked(lab: Lab, count: int = 1) -> Event:
    return await lab.watcher.until("tool_confirmation_request", count=count)


async def outcome(task: Any) -> CallOutcome:
    (found,) = await task
    assert isinstance(found, CallOutcome)
    return found


async def test_the_server_offers_what_may_last_and_says_what_it_would_cover(lab: Lab):
    add_send(lab)
    running = start(lab, run_id="run_1")
    options = (await asked(lab))["options"]
    assert [(o["option_id"], o["kind"], o.get("requires_scope")) for o in options] == [
        ("decline", "deny", None),
        ("approve_once", "allow", None),
        ("approve_run", "allow", None),
        ("approve_session", "allow", None),
        ("approve_always", "allow", "admin"),
    ]
    assert [o.get("expires_in_s") for o in options] == [None, None, None, 28800.0, 2592000.0]
    assert all('"hi"' in option["covers"] for option in options[2:])
    assert [o.get("covers_kind") for o in options] == [None, None, *["arguments"] * 3]
    await lab.answer("decline")
    await running


async def test_no_lasting_approval_is_offered_for_code_that_cannot_be_read(house: Lab):
    request = CallRequest("c1", "bash", {"command": 'rm "$(cat list)"'})
    running = asyncio.create_task(house.run(request, run_id="run_1"))
    options = (await asked(house))["options"]
    assert [option["option_id"] for option in options] == ["decline", "approve_once"]
    with pytest.raises(InvalidInput):
        await house.answer("approve_session")
    await house.answer("decline")
    await running


async def test_no_lasting_approval_is_offered_for_what_cannot_be_shown_in_full(lab: Lab):
    async def login(args: LoginArgs, ctx: Any) -> str:
        return "in"

    lab.add(made(login, requires_confirmation=True, **WRITES))
    request = CallRequest("c1", "login", {"password": "hunter2hunter2"})
    running = asyncio.create_task(lab.run(request))
    assert len((await asked(lab))["options"]) == 2
    await lab.answer("decline")
    await running


@pytest.mark.requirement("D-3")
async def test_once_is_for_one_call_also_when_its_result_could_be_kept(lab: Lab):
    async def look(args: AnyArgs, ctx: Any) -> str:
        return f"seen {args.text}"

    lab.add(made(look, requires_confirmation=True, cacheable=True))
    for count in (1, 2):
        running = asyncio.create_task(lab.run(CallRequest(f"c{count}", "look", {"text": "a"})))
        await lab.answer("approve_once", await asked(lab, count=count))
        found = await outcome(running)
        assert (found.success, found.cached) == (True, False)


@pytest.mark.requirement("D-3")
async def test_nothing_outlives_the_session_where_that_is_not_allowed(settings: Settings):
    async with bare_lab(settings) as lab:
        add_send(lab)
        running = start(lab)
        await asked(lab)
        await lab.answer("approve_always", by=ADMIN)
        await running
    async with bare_lab(settings.model_copy(update={"allow_permanent": False})) as lab:
        ran = add_send(lab)
        await lab.runtime.agents.create(read_profile("a", {}), actor="root")
        running = start(lab, agent_id="a")
        options = [option["option_id"] for option in (await asked(lab))["options"]]
        assert options == ["decline", "approve_once", "approve_run", "approve_session"]
        with pytest.raises(InvalidInput):
            await lab.answer("approve_always", by=ADMIN)
        await lab.answer("decline")
        await running
        assert ran == []


@pytest.mark.requirement("D-3")
async def test_an_approval_for_the_session_answers_the_next_equal_call_and_no_other(lab: Lab):
    ran = add_send(lab)
    running = start(lab)
    await asked(lab)
    await lab.answer("approve_session")
    await running
    assert (await outcome(start(lab, "c2"))).success
    assert ran == ["hi", "hi"]
    other = start(lab, "c3", text="ho")
    await asked(lab, count=2)
    await lab.answer("decline", lab.watcher.of("tool_confirmation_request")[1])
    assert (await outcome(other)).status == "declined"
    (grant,) = lab.runtime.grants.snapshot
    assert (grant.scope, grant.scope_id, grant.created_by) == ("session", lab.session.id, "ann")
    assert await lab.rows("SELECT hits, last_used_at IS NOT NULL FROM grants") == [(1, 1)]
    resolved = lab.watcher.of("tool_confirmation_resolved")[0]
    assert resolved["grant_id"] == grant.id


async def test_an_approval_for_the_run_releases_equal_calls_that_wait_already(lab: Lab):
    ran = add_send(lab)
    waiting = [start(lab, f"c{number}") for number in range(3)]
    elsewhere = start(lab, "c8", run_id="run_2")
    different = start(lab, "c9", text="ho")
    first = await asked(lab)
    await asked(lab, count=5)
    await lab.answer("approve_run", first)
    outcomes = [await outcome(task) for task in waiting]
    assert [found.success for found in outcomes] == [True] * 3
    assert ran == ["hi"] * 3
    assert not elsewhere.done()
    assert not different.done()
    resolved = lab.watcher.of("tool_confirmation_resolved")
    assert {event["by"] for event in resolved} == {"ann"}
    assert len({event["grant_id"] for event in resolved}) == 1
    for task in (elsewhere, different):
        task.cancel()
    await asyncio.gather(elsewhere, different, return_exceptions=True)
    lab.runtime.grants.end_run("run_1")
    again = start(lab, "c10")
    await asked(lab, count=6)
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_only_an_administrator_approves_for_everybody(lab: Lab):
    add_send(lab)
    running = start(lab)
    await asked(lab)
    with pytest.raises(Forbidden):
        await lab.answer("approve_always")
    assert not lab.runtime.grants.snapshot
    await lab.answer("approve_always", by=ADMIN)
    assert (await outcome(running)).success
    assert (await outcome(start(lab, "c2", run_id="run_2"))).success
    assert [grant.scope for grant in lab.runtime.grants.snapshot] == ["always"]


@pytest.mark.parametrize("kind", ["agent", "subagent", "schedule", "webhook"])
async def test_nothing_but_a_person_approves(lab: Lab, kind: Any):
    add_send(lab)
    running = start(lab)
    await asked(lab)
    for option in ("approve_once", "approve_session", "decline"):
        with pytest.raises(Forbidden):
            await lab.answer(option, by=Approver("bot", is_admin=True, kind=kind))
    await lab.answer("decline")
    await running


async def test_a_revoked_grant_answers_nothing_from_the_next_call_on(lab: Lab):
    add_send(lab)
    running = start(lab)
    await asked(lab)
    await lab.answer("approve_session")
    await running
    (grant,) = lab.runtime.grants.snapshot
    revoked = await lab.runtime.grants.revoke(grant.id, by="root")
    assert revoked.revoked_by == "root"
    again = start(lab, "c2")
    await asked(lab, count=2)
    await lab.answer("decline", lab.watcher.of("tool_confirmation_request")[1])
    await again
    assert (await lab.runtime.grants.revoke(grant.id, by="ann")).revoked_by == "root"
    with pytest.raises(NotFound):
        await lab.runtime.grants.revoke("grt_none", by="root")
    reported = await lab.rows(
        "SELECT actor, outcome FROM audit WHERE kind = 'governance.grant' ORDER BY seq"
    )
    assert reported == [("ann", "created"), ("root", "revoked")]


async def test_a_grant_ends_with_its_time_and_does_not_come_back(settings: Settings):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        add_send(lab)
        running = start(lab)
        await asked(lab)
        await lab.answer("approve_session")
        await running
        clock.advance(settings.grant_session_ttl_s + 1)
        again = start(lab, "c2")
        await asked(lab, count=2)
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        await lab.runtime.grants.load()
        assert lab.runtime.grants.snapshot == ()


async def test_a_grant_outlives_the_service_but_one_for_a_run_does_not(settings: Settings):
    async with bare_lab(settings) as lab:
        add_send(lab)
        for number, option in enumerate(("approve_run", "approve_session"), 1):
            running = start(lab, f"c{number}", text=option)
            await lab.answer(option, await asked(lab, count=number))
            await running
        kept = {grant.scope for grant in lab.runtime.grants.snapshot}
    async with bare_lab(settings) as lab:
        assert kept == {"run", "session"}
        assert [grant.scope for grant in lab.runtime.grants.snapshot] == ["session"]


async def test_the_question_and_its_answer_are_in_the_audit(lab: Lab):
    add_send(lab)
    running = start(lab)
    await asked(lab)
    await lab.answer("decline", message="no")
    await running
    rows = await lab.rows(
        "SELECT kind, actor, outcome FROM audit WHERE kind LIKE 'confirmation.%' ORDER BY seq"
    )
    assert [(kind, outcome) for kind, _, outcome in rows] == [
        ("confirmation.asked", None),
        ("confirmation.answered", "declined"),
    ]
    assert rows[1][1] == "ann"
