"""Limits on calls: each counter holds on its own, and hitting one says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.config.sections import LimitSettings
from app.config.settings import Settings
from app.core.clock import ManualClock
from app.execution.calls import CallRequest
from app.execution.hooks.model import HookConfig, HookType
from app.governance.agents import AgentProfile
from app.governance.limits import Limits, QuotaSubject
from app.toolkit.tool import Tool
from tests.execution.lab import AnyArgs, Lab, bare_lab, counted, made


@asynccontextmanager
async def limited(
    settings: Settings, **limits: Any
) -> AsyncIterator[tuple[Lab, list[Any], ManualClock]]:
    """A lab with these limits for every user, the tool `note`, what it ran with, and time."""
    clock = ManualClock()
    changed = settings.model_copy(update={"limits": LimitSettings(**limits)})
    async with bare_lab(changed, clock=clock) as lab:
        lab.context["user_id"] = "ann"
        with counted() as (function, ran):
            lab.add(made(function, name="note"))
            yield lab, ran, clock


async def codes(lab: Lab, count: int, name: str = "note", **changes: Any) -> list[str | None]:
    """How many calls end, one after the other."""
    ended = []
    for number in range(count):
        request = CallRequest(f"c{number}", name, {"number": number})
        outcome = (await lab.run(request, **changes))[0]
        ended.append(outcome.result.code)
    return ended


async def test_a_rate_refuses_says_when_to_come_back_and_recovers(settings: Settings):
    async with limited(settings, calls_per_minute=2) as (lab, ran, clock):
        assert await codes(lab, 2) == [None, None]
        outcome = await lab.call("note")
        assert (outcome.status, outcome.result.code) == ("denied", "rate_limited")
        assert outcome.result.data == {
            "limited": "user:ann",
            "limit": 2,
            "retry_after_ms": 30_000,
        }
        assert outcome.text == (
            "Not run: this user is limited to 2 calls per minute; "
            "wait 30 s before the next call, or continue without it"
        )
        error = lab.watcher.of("tool_call_completed", status="denied")[0]["error"]
        assert (error["retryable"], error["retry_after_ms"]) == (True, 30_000)
        clock.advance(29.9)
        assert await codes(lab, 1) == ["rate_limited"]
        clock.advance(0.1)
        assert await codes(lab, 2) == [None, "rate_limited"]
        clock.advance(3600)
        assert await codes(lab, 3) == [None, None, "rate_limited"]
        assert await codes(lab, 1, user_id="bob") == [None]
    assert len(ran) == 6


async def test_hitting_a_limit_is_an_event_a_row_and_a_figure(settings: Settings):
    async with limited(settings, calls_per_minute=0) as (lab, ran, _):
        await lab.call("note")
        rows = await lab.rows(
            "SELECT actor, subject, tool_name, outcome FROM audit WHERE kind = 'limit.hit'"
        )
        ended = lab.watcher.of("tool_call_completed")[0]
        counters = dict(lab.runtime.metrics.counters)
    assert (ended["status"], ended["error"]["code"], ran) == ("denied", "rate_limited", [])
    assert "limit to 0" in ended["error"]["message"]
    assert rows == [("ann", "user:ann", "note", "denied")]
    assert counters["limit_hits", "rate_limited"] == 1


async def test_each_counter_holds_on_its_own_and_a_refused_call_takes_from_none(
    settings: Settings,
):
    async with limited(settings, calls_per_minute=10) as (lab, _, _clock):
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        await lab.runtime.governance.change_tool(
            "note", {"limits": Limits(calls_per_minute=2)}, actor="admin"
        )
        assert await codes(lab, 3) == [None, None, "rate_limited"]
        left = {usage.key: usage.calls_left for usage in lab.runtime.limits.store.usage()}
        assert left == {"user:ann": 8, "tool:note": 0}
        assert await codes(lab, 1, user_id="bob") == ["rate_limited"]


async def test_a_token_s_own_limit_is_counted_for_the_token(settings: Settings):
    async with limited(settings) as (lab, _, _clock):
        limits = Limits(calls_per_minute=1)
        tight, other = QuotaSubject("tok_1", limits), QuotaSubject("tok_2", limits)
        assert await codes(lab, 2, quota_subject=tight) == [None, "rate_limited"]
        assert await codes(lab, 2) == [None, None]
        assert await codes(lab, 1, quota_subject=other) == [None]


async def test_who_names_no_agent_is_counted_with_the_agent_that_governs_him(settings: Settings):
    async with limited(settings) as (lab, _, _):
        await add_agent(lab, "default", Limits(calls_per_minute=2))
        assert await codes(lab, 1, agent_id="default") == [None]
        assert await codes(lab, 2) == [None, "rate_limited"]
        assert "the agent 'default' is limited" in (await lab.call("note")).text


async def test_an_agent_s_limit_holds_for_that_agent_and_from_the_next_call_on(
    settings: Settings,
):
    async with limited(settings) as (lab, _, _clock):
        assert not lab.runtime.limits.concerns(lab.call_context())
        await add_agent(lab, "coder", Limits(calls_per_run=1))
        assert lab.runtime.limits.concerns(lab.call_context())
        assert await codes(lab, 2, agent_id="coder", run_id="run_1") == [None, "calls_per_run"]
        assert await codes(lab, 1, agent_id="coder", run_id="run_2") == [None]
        assert await codes(lab, 2, run_id="run_1") == [None, None]


async def add_agent(lab: Lab, agent_id: str, limits: Limits) -> None:
    await lab.runtime.agents.create(AgentProfile(id=agent_id, limits=limits), actor="admin")


async def test_a_run_s_share_is_given_back_when_the_run_has_ended(settings: Settings):
    async with limited(settings, calls_per_run=2) as (lab, _, _clock):
        assert await codes(lab, 3, run_id="run_1") == [None, None, "calls_per_run"]
        lab.runtime.limits.store.run_ended("run_1")
        assert await codes(lab, 1, run_id="run_1") == [None]
        assert await codes(lab, 3, run_id=None) == [None, None, None]


async def test_a_limit_is_checked_before_any_hook_runs(settings: Settings):
    seen: list[str] = []

    async def note(context: Any) -> None:
        seen.append(context.tool_name)

    async with limited(settings, calls_per_minute=1) as (lab, _, _clock):
        lab.runtime.hooks.register(HookConfig("h", HookType.PRE_TOOL_USE, note))
        assert await codes(lab, 3) == [None, "rate_limited", "rate_limited"]
    assert seen == ["note"]


class Door:
    """A tool that stays inside until it is let out."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.entered = asyncio.Event()
        self.out = asyncio.Event()
        self.order: list[int] = []

    def tool(self) -> Tool:
        async def wait(args: AnyArgs, ctx: Any) -> int:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.order.append(args.number)
            self.entered.set()
            await self.out.wait()
            self.inside -= 1
            return args.number

        return made(wait)


async def until_waiting(lab: Lab, count: int, key: str = "user:ann") -> None:
    """Give the loop turns until so many calls wait for a place."""
    for _ in range(10_000):
        if any(u.key == key and u.waiting == count for u in lab.runtime.limits.store.usage()):
            return
        await asyncio.sleep(0)
    raise AssertionError(f"not {count} calls wait for {key}")


async def test_calls_of_a_batch_wait_for_a_place_in_order_and_all_of_them_run(
    settings: Settings,
):
    door = Door()
    async with limited(settings, concurrent=1, queue=0, queue_s=0) as (lab, _, _clock):
        lab.add(door.tool())
        requests = [CallRequest(f"c{n}", "wait", {"number": n}) for n in range(4)]
        running = asyncio.create_task(lab.run(*requests))
        await until_waiting(lab, 3)
        door.out.set()
        outcomes = await running
        usage = lab.runtime.limits.store.usage()
    assert {outcome.status for outcome in outcomes} == {"success"}
    assert (door.most, door.order) == (1, [0, 1, 2, 3])
    assert usage == []


async def test_a_single_call_waits_in_a_line_of_limited_length(settings: Settings):
    door = Door()
    async with limited(settings, concurrent=1, queue=1) as (lab, _, _clock):
        lab.add(door.tool())
        first = asyncio.create_task(lab.call("wait", "c1", number=1))
        await door.entered.wait()
        second = asyncio.create_task(lab.call("wait", "c2", number=2))
        await until_waiting(lab, 1)
        third = await lab.call("wait", "c3", number=3)
        assert (third.status, third.result.code) == ("denied", "concurrency_limited")
        assert third.result.data["retry_after_ms"] == 1000
        door.out.set()
        assert [(await first).status, (await second).status] == ["success", "success"]


async def test_waiting_ends_when_the_time_is_over(settings: Settings):
    door = Door()
    async with limited(settings, concurrent=1, queue_s=0.01) as (lab, _, _clock):
        lab.add(door.tool())
        first = asyncio.create_task(lab.call("wait", "c1", number=1))
        await door.entered.wait()
        late = await lab.call("wait", "c2", number=2)
        assert late.result.code == "concurrency_limited"
        door.out.set()
        assert (await first).status == "success"
        assert (await lab.call("wait", "c3", number=3)).status == "success"


async def test_a_call_that_is_cancelled_while_it_waits_or_runs_gives_its_place_back(
    settings: Settings,
):
    door = Door()
    async with limited(settings, concurrent=1) as (lab, _, _clock):
        lab.add(door.tool())
        first = asyncio.create_task(lab.call("wait", "c1", number=1))
        await door.entered.wait()
        second = asyncio.create_task(lab.call("wait", "c2", number=2))
        await until_waiting(lab, 1)
        lab.runtime.executor.cancel(lab.session.id, "c2")
        lab.runtime.executor.cancel(lab.session.id, "c1")
        assert [(await first).status, (await second).status] == ["cancelled", "cancelled"]
        door.out.set()
        assert (await lab.call("wait", "c3", number=3)).status == "success"
        assert lab.runtime.limits.store.usage() == []


async def test_who_is_held_up_at_one_tool_holds_nobody_up_at_another(settings: Settings):
    door = Door()
    async with limited(settings, concurrent=3) as (lab, _, _clock):
        lab.add(door.tool())
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        await lab.runtime.governance.change_tool(
            "wait", {"limits": Limits(concurrent=1)}, actor="admin"
        )
        first = asyncio.create_task(lab.call("wait", "c1", number=1))
        await door.entered.wait()
        second = asyncio.create_task(lab.call("wait", "c2", number=2))
        await until_waiting(lab, 1, "tool:wait")
        assert (await lab.call("note", "c3")).status == "success"
        door.out.set()
        assert [(await first).status, (await second).status] == ["success", "success"]


async def test_a_tool_switched_off_while_a_call_waits_is_not_run(settings: Settings):
    door = Door()
    async with limited(settings, concurrent=1) as (lab, _, _clock):
        lab.add(door.tool())
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        first = asyncio.create_task(lab.call("wait", "c1", number=1))
        await door.entered.wait()
        second = asyncio.create_task(lab.call("wait", "c2", number=2))
        await until_waiting(lab, 1)
        await lab.runtime.governance.set_enabled("wait", enabled=False)
        door.out.set()
        assert [(await first).status, (await second).status] == ["success", "disabled"]
    assert door.order == [1]


async def test_without_a_limit_nothing_is_counted(settings: Settings):
    async with limited(settings) as (lab, ran, _):
        assert not lab.runtime.limits.concerns(lab.call_context())
        assert await codes(lab, 3) == [None, None, None]
        assert lab.runtime.limits.store.usage() == []
    assert len(ran) == 3


@pytest.mark.parametrize("concurrent", [0])
async def test_a_limit_of_nothing_lets_nothing_through(settings: Settings, concurrent: int):
    async with limited(settings, concurrent=concurrent) as (lab, ran, _):
        outcome = await lab.call("note")
        assert (outcome.result.code, ran) == ("concurrency_limited", [])
        assert "retry_after_ms" not in outcome.result.data
