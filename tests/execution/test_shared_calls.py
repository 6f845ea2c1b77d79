"""Equal calls: skipped twins, cached reads, and when neither may happen."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.clock import ManualClock
from app.execution.calls import CallRequest
from app.toolkit.result import ToolResult
from tests.execution.lab import WRITES, AnyArgs, Lab, bare_lab, counted, made


def call(call_id: str, name: str, text: str = "", **more: Any) -> CallRequest:
    return CallRequest(call_id, name, {"text": text, **more})


@pytest.mark.requirement("EXE-06", "B-11", "F-6")
@pytest.mark.parametrize("workers", [1, 4])
async def test_an_equal_call_of_a_batch_is_skipped_and_carries_the_first_result(
    lab: Lab, workers: int
):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        outcomes = await lab.run(
            call("c1", "note", "a"),
            CallRequest("c2", "note", '{"text":"a"}'),
            call("c3", "note", "b"),
            workers=workers,
        )
    assert [(outcome.status, outcome.duplicate_of) for outcome in outcomes] == [
        ("success", None),
        ("skipped", "c1"),
        ("success", None),
    ]
    assert outcomes[1].result == outcomes[0].result
    assert len(ran) == 2
    record = outcomes[1].record()
    assert (record["skipped"], record["duplicate_of"], record["success"]) == (True, "c1", True)
    completed = lab.watcher.of("tool_call_completed", tool_call_id="c2")[0]
    assert (completed["status"], completed["duplicate_of"]) == ("skipped", "c1")
    assert outcomes[0].text in outcomes[1].text
    assert "It ran once, and both share the result" in outcomes[1].text
    assert "It ran once" not in outcomes[0].text


async def test_calls_one_at_a_time_end_before_the_next_begins(lab: Lab):
    state = {"text": "old"}

    async def read(args: AnyArgs, ctx: Any) -> str:
        return state["text"]

    async def write(args: AnyArgs, ctx: Any) -> str:
        state["text"] = args.text
        return "ok"

    lab.add(made(read, cacheable=True), made(write, **WRITES))
    outcomes = await lab.run(
        call("c1", "read"),
        call("c2", "write", "new"),
        call("c3", "read"),
        call("c4", "write", "newer"),
        call("c5", "write", "new"),
        call("c6", "read"),
        workers=1,
    )
    assert [outcome.text for outcome in outcomes] == ["old", "ok", "new", "ok", "ok", "new"]
    types = [(event["type"], event["tool_call_id"]) for event in lab.watcher.events]
    assert types == [
        (kind, f"c{number}")
        for number in range(1, 7)
        for kind in ("tool_call_started", "tool_call_completed")
    ]


@pytest.mark.requirement("EXE-05", "EXE-07")
async def test_an_equal_read_is_answered_from_the_cache_until_it_is_too_old(settings: Settings):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        with counted() as (function, ran):
            lab.add(made(function, name="note", cacheable=True))
            first = await lab.call("note", "c1", text="a")
            again = await lab.call("note", "c2", text="a")
            assert (again.cached, again.result, len(ran)) == (True, first.result, 1)
            assert lab.watcher.of("tool_call_completed")[1]["cached"] is True
            clock.advance(299)
            assert (await lab.call("note", "c3", text="a")).cached is True
            clock.advance(1)
            assert (await lab.call("note", "c4", text="a")).cached is False
            assert len(ran) == 2
            assert (await lab.run(call("c5", "note", "a"), cacheable=False))[0].cached is False


@pytest.mark.requirement("EXE-09")
@pytest.mark.parametrize("change", [{"enable_cache": False}, {"cache_ttl_s": 0}])
async def test_the_cache_can_be_switched_off(settings: Settings, change: dict[str, Any]):
    async with bare_lab(settings.model_copy(update=change)) as lab:
        with counted() as (function, ran):
            lab.add(made(function, name="note", cacheable=True))
            await lab.call("note", "c1")
            await lab.call("note", "c2")
    assert len(ran) == 2


@pytest.mark.requirement("B-10", "F-4")
async def test_a_read_after_a_write_gives_the_new_content(house: Lab):
    write = {"path": "a.txt", "content": "one\n"}
    await house.call("write_file", "w1", **write)
    first = await house.call("read_file", "r1", path="a.txt")
    cached = await house.call("read_file", "r2", path="a.txt")
    assert ("one" in first.text, cached.cached) == (True, True)
    await house.call("write_file", "w2", path="a.txt", content="two\n")
    fresh = await house.call("read_file", "r3", path="a.txt")
    assert (fresh.cached, "two" in fresh.text) == (False, True)


async def test_what_was_read_while_something_was_written_is_not_kept(lab: Lab):
    state = {"text": "old"}

    async def write(args: AnyArgs, ctx: Any) -> str:
        state["text"] = "new"
        return "ok"

    async def read(args: AnyArgs, ctx: Any) -> str:
        seen = state["text"]
        await lab.runtime.executor.run([call("w", "write")], lab.call_context())
        return seen

    lab.add(made(read, cacheable=True), made(write, **WRITES))
    assert (await lab.call("read", "r1")).text == "old"
    assert (await lab.call("read", "r2")).text == "new"


async def test_a_tool_that_is_not_marked_cacheable_or_writes_is_never_cached(lab: Lab):
    with counted() as (plain, ran_plain), counted() as (writing, ran_writing):
        lab.add(made(plain, name="plain"), made(writing, name="writing", cacheable=True, **WRITES))
        for number in range(2):
            await lab.call("plain", f"p{number}")
            await lab.call("writing", f"w{number}")
    assert (len(ran_plain), len(ran_writing)) == (2, 2)


@pytest.mark.requirement("B-13", "F-7")
async def test_an_inner_failure_is_a_failure_and_is_not_kept(lab: Lab):
    numbers = count()

    async def maybe(args: AnyArgs, ctx: Any) -> dict[str, Any]:
        return {"success": False, "error": f"missing {next(numbers)}"}

    lab.add(made(maybe, cacheable=True))
    first, second = await lab.call("maybe", "c1"), await lab.call("maybe", "c2")
    assert [(one.status, one.result.error) for one in (first, second)] == [
        ("error", "missing 0"),
        ("error", "missing 1"),
    ]


async def test_one_project_does_not_see_what_was_cached_in_another(house: Lab, tmp_path):
    roots = [tmp_path / name for name in ("one", "two")]
    for root in roots:
        root.mkdir()
        (root / "a.txt").write_text(root.name, encoding="utf-8")
        house.runtime.projects.mount(root.name, root)
    texts = []
    for number, root in enumerate(roots):
        house.context["project"] = house.runtime.projects.get(root.name)
        outcome = await house.call("read_file", f"c{number}", path="a.txt")
        texts.append((outcome.cached, outcome.result.data["content"]))
    assert texts == [(False, "one"), (False, "two")]


@pytest.mark.requirement("D-19")
async def test_an_agent_in_a_circle_is_warned_and_then_refused(lab: Lab):
    with counted(iter(lambda: "same", None)) as (function, ran):
        lab.add(made(function, name="note"))
        outcomes = [await lab.call("note", f"c{number}") for number in range(8)]
    assert ["Repeating it will not help" in outcome.text for outcome in outcomes[:6]] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]
    assert [(outcome.status, outcome.result.code) for outcome in outcomes[6:]] == [
        ("denied", "loop_detected")
    ] * 2
    assert len(ran) == 6
    assert (await lab.call("note", "other", text="b")).status == "success"


async def test_a_write_starts_the_count_again_and_a_time_in_the_result_does_not(lab: Lab):
    ticks = count(10)

    async def clockwise(args: AnyArgs, ctx: Any) -> str:
        return f"nothing new at 2026-01-01T00:00:{next(ticks)}Z"

    with counted() as (function, _):
        lab.add(made(clockwise), made(function, name="change", **WRITES))
        for number in range(4):
            await lab.call("clockwise", f"a{number}")
        await lab.call("change", "w")
        after = await lab.call("clockwise", "b")
    assert "Repeating" in lab.watcher.of("tool_call_completed")[3]["content"][0]["text"]
    assert "Repeating" not in after.text


async def test_a_person_may_repeat_a_call_as_often_as_they_like(lab: Lab):
    with counted(iter(lambda: "same", None)) as (function, ran):
        lab.add(made(function, name="note"))
        for number in range(8):
            outcome = (await lab.run(call(f"c{number}", "note"), caller="rest"))[0]
            assert (outcome.status, outcome.text) == ("success", "same")
    assert len(ran) == 8


async def test_a_result_that_a_twin_takes_over_may_be_a_failure(lab: Lab):
    async def fails(args: AnyArgs, ctx: Any) -> ToolResult:
        return ToolResult.fail("no")

    lab.add(made(fails))
    outcomes = await lab.run(call("c1", "fails"), call("c2", "fails"))
    assert [(one.status, one.success) for one in outcomes] == [("error", False), ("skipped", False)]
