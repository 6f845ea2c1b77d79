"""Cancelling one call, a batch, and what must never follow from it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.core.errors import ToolFailed
from app.execution.calls import CallRequest
from app.execution.hooks.model import HookConfig, HookType
from tests.execution.lab import PATIENCE_S, WRITES, AnyArgs, Lab, made

PAIR = ["tool_call_started", "tool_call_completed"]


class Waiting:
    """A tool that says when it runs and waits to be let go."""

    def __init__(self, expected: int = 1) -> None:
        self.entered: list[str] = []
        self.reached = asyncio.Event()
        self.go = asyncio.Event()
        self.cleaned = asyncio.Event()
        self._expected = expected

    async def __call__(self, args: AnyArgs, ctx: Any) -> str:
        self.entered.append(args.text)
        if len(self.entered) >= self._expected:
            self.reached.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self.cleaned.set()
            raise
        return args.text


def waiting_tool(waiting: Waiting, **options: Any):
    async def wait(args: AnyArgs, ctx: Any) -> str:
        return await waiting(args, ctx)

    return made(wait, **options)


def requests(name: str, *texts: str) -> list[CallRequest]:
    return [CallRequest(f"c-{text}", name, {"text": text}) for text in texts]


@pytest.mark.requirement("EXE-03")
async def test_four_calls_of_a_batch_run_at_once_and_come_back_in_order(lab: Lab):
    waiting = Waiting(expected=4)
    lab.add(waiting_tool(waiting))
    running = asyncio.create_task(lab.run(*requests("wait", "a", "b", "c", "d", "e")))
    async with asyncio.timeout(PATIENCE_S):
        await waiting.reached.wait()
    assert waiting.entered == ["a", "b", "c", "d"]
    waiting.go.set()
    assert [outcome.text for outcome in await running] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(("asked", "at_once"), [(0, 4), (3, 3), (99, 6)])
async def test_the_number_of_workers_is_held_between_one_and_six(
    lab: Lab, asked: int, at_once: int
):
    waiting = Waiting(expected=at_once)
    lab.add(waiting_tool(waiting))
    running = asyncio.create_task(lab.run(*requests("wait", *"abcdefgh"), workers=asked))
    async with asyncio.timeout(PATIENCE_S):
        await waiting.reached.wait()
    assert len(waiting.entered) == at_once
    waiting.go.set()
    await running


async def test_cancelling_one_call_leaves_its_siblings_alone(lab: Lab):
    waiting = Waiting(expected=3)
    lab.add(waiting_tool(waiting))
    running = asyncio.create_task(lab.run(*requests("wait", "a", "b", "c")))
    await waiting.reached.wait()
    executor, session = lab.runtime.executor, lab.session.id
    assert sorted(executor.running(session)) == ["c-a", "c-b", "c-c"]
    assert executor.cancel("another session", "c-b") is False
    assert executor.cancel(session, "c-b") is True
    await lab.watcher.until("tool_call_completed", tool_call_id="c-b")
    waiting.go.set()
    assert [outcome.status for outcome in await running] == ["success", "cancelled", "success"]
    assert executor.cancel(session, "c-b") is False
    assert executor.running(session) == []


async def test_cancelling_a_single_call_does_not_cancel_its_caller(lab: Lab):
    waiting = Waiting()
    lab.add(waiting_tool(waiting))

    async def caller() -> tuple[str, int]:
        outcome = (await lab.run(*requests("wait", "a")))[0]
        task = asyncio.current_task()
        assert task is not None
        return outcome.status, task.cancelling()

    running = asyncio.create_task(caller())
    await waiting.reached.wait()
    lab.runtime.executor.cancel(lab.session.id, "c-a")
    assert await running == ("cancelled", 0)


@pytest.mark.parametrize("workers", [1, 4])
async def test_cancelling_the_batch_records_every_call_and_goes_on(lab: Lab, workers: int):
    waiting = Waiting()
    lab.add(waiting_tool(waiting))
    finished: dict[str, Any] = {}
    batch = requests("wait", "a", "b", "c")
    running = asyncio.create_task(
        lab.runtime.executor.run(batch, lab.call_context(), max_workers=workers, finished=finished)
    )
    await waiting.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [finished[request.id].status for request in batch] == ["cancelled"] * 3
    await lab.runtime.db.flush()
    for request in batch:
        assert lab.watcher.about(request.id) == PAIR


async def test_a_tool_that_tidies_up_is_not_cancelled_a_second_time(lab: Lab):
    waiting = Waiting(expected=2)
    lab.add(waiting_tool(waiting))
    running = asyncio.create_task(lab.run(*requests("wait", "a", "b")))
    await waiting.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert waiting.cleaned.is_set()


async def test_a_tool_that_swallows_its_cancellation_does_not_swallow_the_caller_s(lab: Lab):
    reached = asyncio.Event()

    async def stubborn(args: AnyArgs, ctx: Any) -> str:
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "never mind"
        return ""

    lab.add(made(stubborn))
    running = asyncio.create_task(lab.run(CallRequest("c1", "stubborn", {})))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await lab.runtime.db.flush()
    assert lab.watcher.of("tool_call_completed")[0]["status"] == "cancelled"


async def test_a_cancel_while_hooks_hear_of_the_end_does_not_end_the_call_twice(lab: Lab):
    reported = asyncio.Event()

    async def slow_watcher(_: Any) -> None:
        reported.set()
        await asyncio.Event().wait()

    lab.runtime.hooks.register(HookConfig("slow", HookType.TOOL_ERROR, slow_watcher))
    running = asyncio.create_task(lab.run(CallRequest("c1", "nope", {})))
    await reported.wait()
    lab.runtime.executor.cancel(lab.session.id, "c1")
    outcome = (await running)[0]
    assert (outcome.status, outcome.result.code) == ("error", "tool_not_found")
    assert lab.watcher.about("c1") == PAIR


async def test_cancelling_while_a_question_is_open_resolves_it_first(lab: Lab):
    async def asks(args: AnyArgs, ctx: Any) -> str:
        return "x"

    lab.add(made(asks, requires_confirmation=True, **WRITES))
    running = asyncio.create_task(lab.run(CallRequest("c1", "asks", {})))
    await lab.watcher.until("tool_confirmation_request")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await lab.runtime.db.flush()
    assert lab.watcher.about("c1") == [
        "tool_call_started",
        "tool_confirmation_request",
        "tool_confirmation_resolved",
        "tool_call_completed",
    ]
    assert lab.watcher.of("tool_confirmation_resolved")[0]["outcome"] == "cancelled"
    assert lab.watcher.of("tool_call_completed")[0]["status"] == "cancelled"
    assert await lab.rows("SELECT status FROM confirmations") == [("cancelled",)]


async def test_a_cancelled_stream_keeps_what_it_had_printed(lab: Lab):
    reached = asyncio.Event()

    async def prints(args: AnyArgs, ctx: Any):
        yield "half"
        reached.set()
        await asyncio.Event().wait()

    lab.add(made(prints))
    running = asyncio.create_task(lab.run(CallRequest("c1", "prints", {})))
    await reached.wait()
    lab.runtime.executor.cancel(lab.session.id, "c1")
    outcome = (await running)[0]
    assert outcome.result.data == {"output": "half"}
    assert outcome.text == "The call was cancelled. Output so far:\nhalf"
    ended = lab.watcher.of("tool_call_completed")[0]
    assert (ended["chunks"], ended["bytes"]) == (1, 4)
    assert ended["duration_ms"] == round(outcome.execution_time * 1000, 3) > 0
    assert list((lab.runtime.settings.data_dir / "artifacts").glob(".spool-*")) == []


@pytest.mark.parametrize(
    ("kind", "output"), [(HookType.TOOL_ERROR, "whole"), (HookType.POST_TOOL_USE, "")]
)
async def test_a_cancel_during_a_hook_keeps_only_what_no_post_hook_may_change(
    lab: Lab, kind: HookType, output: str
):
    reached = asyncio.Event()

    async def slow(_: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    async def prints(args: AnyArgs, ctx: Any):
        yield "whole"
        raise ToolFailed("broken")

    lab.add(made(prints))
    lab.runtime.hooks.register(HookConfig("slow", kind, slow))
    running = asyncio.create_task(lab.run(CallRequest("c1", "prints", {})))
    await reached.wait()
    lab.runtime.executor.cancel(lab.session.id, "c1")
    outcome = (await running)[0]
    assert outcome.status == "cancelled"
    assert (outcome.result.data or {}).get("output", "") == output
    assert outcome.execution_time > 0
    assert list((lab.runtime.settings.data_dir / "artifacts").glob(".spool-*")) == []


async def test_a_cancel_before_the_post_hooks_releases_nothing(lab: Lab):
    reached = asyncio.Event()

    async def removes_secrets(_: Any) -> None:
        """Never called: the call is cancelled before it ends."""

    async def prints(args: AnyArgs, ctx: Any):
        yield "secret"
        reached.set()
        await asyncio.Event().wait()

    lab.add(made(prints))
    lab.runtime.hooks.register(HookConfig("clean", HookType.POST_TOOL_USE, removes_secrets))
    running = asyncio.create_task(lab.run(CallRequest("c1", "prints", {})))
    await reached.wait()
    lab.runtime.executor.cancel(lab.session.id, "c1")
    outcome = (await running)[0]

    assert outcome.status == "cancelled"
    assert "secret" not in outcome.text
    assert (outcome.result.data or {}).get("output", "") == ""


async def test_a_read_beside_a_cancelled_write_is_not_kept(lab: Lab):
    reached, content = asyncio.Event(), ["before"]

    async def look(args: AnyArgs, ctx: Any) -> str:
        return content[0]

    async def change(args: AnyArgs, ctx: Any) -> str:
        content[0] = "half"
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            content[0] = "undone"
        return ""

    lab.add(made(look, cacheable=True))
    lab.add(made(change, **WRITES))
    running = asyncio.create_task(lab.run(CallRequest("c1", "change", {})))
    await reached.wait()
    assert (await lab.run(CallRequest("c2", "look", {})))[0].text == "half"
    lab.runtime.executor.cancel(lab.session.id, "c1")
    await running
    assert (await lab.run(CallRequest("c3", "look", {})))[0].text == "undone"
