"""Every call ends exactly once, with the status that says why."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.catalog.errors import InvalidTool
from app.core.errors import InvalidArguments, ToolFailed
from app.execution.calls import CallRequest
from app.toolkit.context import Output
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias
from tests.execution.lab import WRITES, AnyArgs, Lab, counted, made

PAIR = ["tool_call_started", "tool_call_completed"]


@pytest.mark.requirement("EVT-01", "EVT-03", "EXE-12")
async def test_a_call_is_started_first_and_completed_last_with_one_operation_id(lab: Lab):
    async def stream(args: AnyArgs, ctx: Any):
        yield Output("one", "stdout")
        yield ToolResult.ok("done")

    lab.add(made(stream))
    outcome = await lab.call("stream")
    events = [event for event in lab.watcher.events if event.get("tool_call_id") == "c1"]
    assert [event["type"] for event in events] == [
        "tool_call_started",
        "tool_result_streamed",
        "tool_call_completed",
    ]
    assert {event["operation_id"] for event in events} == {outcome.operation_id}
    assert (events[1]["stream"], events[1]["text"]) == ("stdout", "one")


@pytest.mark.requirement("REG-08", "EXE-08", "F-5")
async def test_a_failing_tool_runs_once_and_is_asked_again_only_when_called_again(lab: Lab):
    ran: list[int] = []

    async def fails(args: AnyArgs, ctx: Any) -> str:
        ran.append(1)
        raise ToolFailed("no luck")

    lab.add(made(fails, cacheable=True))
    first = await lab.call("fails", "c1")
    assert (first.status, first.result.to_dict()) == (
        "error",
        {"success": False, "data": None, "error": "no luck"},
    )
    assert len(ran) == 1
    second = await lab.call("fails", "c2")
    assert (second.cached, len(ran)) == (False, 2)


RAISED = [
    ValueError("bad"),
    SystemExit(3),
    RecursionError("deep"),
    asyncio.CancelledError(),
    TimeoutError(),
    StopAsyncIteration(),
    ExceptionGroup("several", [ValueError("x")]),
]


@pytest.mark.requirement("REG-08")
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("streaming", [False, True])
async def test_whatever_a_tool_raises_ends_that_call_and_no_other(
    lab: Lab, error: BaseException, *, streaming: bool
):
    async def breaks(args: AnyArgs, ctx: Any) -> str:
        raise error

    async def breaks_streaming(args: AnyArgs, ctx: Any):
        yield "before"
        raise error

    async def works(args: AnyArgs, ctx: Any) -> str:
        return "fine"

    lab.add(made(breaks_streaming if streaming else breaks, name="breaks"), made(works))
    requests = [CallRequest("c1", "breaks", {}), CallRequest("c2", "works", {})]
    outcomes = await lab.run(*requests)
    assert [outcome.status for outcome in outcomes] == ["error", "success"]
    assert outcomes[0].result.code == "internal"
    single = await lab.call("breaks", "c3")
    assert single.status == "error"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    for call_id in ("c1", "c2", "c3"):
        types = [kind for kind in lab.watcher.about(call_id) if kind != "tool_result_streamed"]
        assert types == PAIR


GARBAGE = [
    None,
    2**70,
    float("nan"),
    "\ud800 lone",
    {"k\ud800": b"\xff", 3: {1, 2}},
    object(),
    {"success": False},
    ToolResult.fail("x", data={"deep": 2**80}),
    ToolResult.ok(text="\udfff"),
]


@pytest.mark.parametrize("value", GARBAGE, ids=range(len(GARBAGE)))
@pytest.mark.parametrize("streaming", [False, True])
async def test_what_no_json_can_hold_is_recorded_all_the_same(
    lab: Lab, value: Any, *, streaming: bool
):
    async def gives(args: AnyArgs, ctx: Any) -> Any:
        return value

    async def yields(args: AnyArgs, ctx: Any):
        yield value

    lab.add(made(yields if streaming else gives, name="gives"))
    await lab.call("gives")
    types = [kind for kind in lab.watcher.about("c1") if kind != "tool_result_streamed"]
    assert types == PAIR
    rows = await lab.rows("SELECT tool_call_id FROM tool_calls")
    assert rows == [("c1",)]


async def test_a_tool_that_is_no_coroutine_function_is_not_registered(lab: Lab):
    async def honest(args: AnyArgs, ctx: Any) -> str:
        return "x"

    with pytest.raises(InvalidTool, match="async"):
        lab.add(replace(made(honest), function=lambda args, ctx: 42))  # type: ignore[arg-type,return-value]
    assert (await lab.call("honest")).result.code == "tool_not_found"


@pytest.mark.requirement("VAL-08", "VAL-01")
@pytest.mark.parametrize(
    "arguments",
    ["{", "[1]", '"text"', {"number": "x"}, {"unknown": 1}, '{"number": true}', "{'a': 1}"],
    ids=str,
)
async def test_arguments_that_do_not_fit_fail_that_call_before_the_tool(lab: Lab, arguments: Any):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        outcomes = await lab.run(
            CallRequest("c1", "note", arguments), CallRequest("c2", "note", {"number": 2})
        )
    assert [outcome.status for outcome in outcomes] == ["invalid_arguments", "success"]
    assert [args.number for args in ran] == [2]
    assert lab.watcher.about("c1") == PAIR
    assert lab.watcher.of("tool_call_completed", tool_call_id="c1")[0]["error"]["code"] == (
        "invalid_arguments"
    )


async def test_the_event_names_each_argument_that_does_not_fit(lab: Lab):
    with counted() as (function, _):
        lab.add(made(function, name="note"))
    await lab.call("note", number="x", extra=2)
    (end,) = lab.watcher.of("tool_call_completed", tool_call_id="c1")
    message = "number should be integer"
    assert end["error"]["details"]["errors"] == [
        {"path": "number", "message": message, "code": "int_type"},
        {"path": "extra", "message": "unknown argument extra", "code": "extra_forbidden"},
    ]


async def test_a_tool_may_find_its_arguments_invalid_itself(lab: Lab):
    async def picky(args: AnyArgs, ctx: Any) -> str:
        raise InvalidArguments("text: must rhyme")

    lab.add(made(picky))
    assert (await lab.call("picky")).status == "invalid_arguments"


@pytest.mark.requirement("REG-06", "D-20")
async def test_an_unknown_tool_is_an_error_with_the_likeliest_names(house: Lab):
    outcome = await house.call("readfile", path="a")
    assert (outcome.status, outcome.result.code) == ("error", "tool_not_found")
    assert str(outcome.result.error).startswith("Tool not found: readfile. Did you mean read_file")
    assert house.watcher.about("c1") == PAIR


@pytest.mark.requirement("GOV-04")
async def test_a_switched_off_tool_is_refused_with_the_reason_and_switched_on_again(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        await lab.runtime.governance.set_enabled("note", enabled=False)
        outcome = await lab.call("note")
        assert (outcome.status, outcome.result.code) == ("disabled", "disabled_global")
        assert lab.watcher.of("tool_call_started")[0]["route"] == "disabled"
        assert ran == []
        await lab.runtime.governance.set_enabled("note", enabled=True)
        assert (await lab.call("note", "c2")).status == "success"


async def test_a_deadline_stops_a_tool_and_keeps_what_it_had_printed(lab: Lab):
    async def slow(args: AnyArgs, ctx: Any):
        yield "so far"
        await asyncio.Event().wait()

    lab.add(made(slow, timeout_s=0.05))
    outcome = await lab.call("slow")
    assert (outcome.status, outcome.result.code) == ("timeout", "timeout")
    assert outcome.result.data == {"output": "so far"}
    assert "did not finish within 0.05 s" in outcome.text


async def test_a_tool_that_outlives_its_deadline_does_not_spoil_the_next_call(lab: Lab):
    async def stubborn(args: AnyArgs, ctx: Any) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "finished anyway"
        return ""

    lab.add(made(stubborn, timeout_s=0.02))
    assert (await lab.call("stubborn", "c1")).result.data == "finished anyway"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert (await lab.call("stubborn", "c2")).status == "success"


async def test_an_alias_whose_adapter_or_reshaping_breaks_fails_that_call_only(lab: Lab):
    def explode(_: Any) -> Any:
        raise KeyError("no")

    async def plain(args: AnyArgs, ctx: Any) -> str:
        return "x"

    lab.add(made(plain, aliases=(Alias("adapts", adapt=explode), Alias("shapes", reshape=explode))))
    requests = [
        CallRequest("c1", "adapts", {}),
        CallRequest("c2", "shapes", {}),
        CallRequest("c3", "plain", {}),
    ]
    outcomes = await lab.run(*requests)
    assert [outcome.status for outcome in outcomes] == ["error", "error", "success"]
    for call_id in ("c1", "c2", "c3"):
        assert lab.watcher.about(call_id) == PAIR


@pytest.mark.requirement("EXE-13", "D-20")
async def test_an_alias_call_gets_its_shape_and_the_tool_its_own(house: Lab):
    project = house.context["project"]
    await project.operations.files.write("a.txt", b"hello\n")
    arguments = {"path": "a.txt", "limit": 100_000, "show_line_numbers": False}
    old = await house.call("file_read", "c1", path="a.txt")
    assert old.result.data == {"success": True, "content": "hello\n", "size": 6, "path": "a.txt"}
    new = await house.call("read_file", "c2", **arguments)
    assert "total_lines" in new.result.data
    both = await house.run(
        CallRequest("c3", "file_read", {"path": "a.txt"}),
        CallRequest("c4", "read_file", arguments),
    )
    assert [set(outcome.result.data) >= {"total_lines"} for outcome in both] == [False, True]


async def test_a_report_that_comes_after_the_end_is_not_heard(lab: Lab):
    kept: list[Any] = []

    async def leaves_a_task(args: AnyArgs, ctx: Any) -> str:
        await ctx.progress("working", current=1, total=4)
        kept.append(ctx)
        return "x"

    lab.add(made(leaves_a_task))
    await lab.call("leaves_a_task")
    await kept[0].progress("ghost")
    await lab.runtime.db.flush()
    assert lab.watcher.about("c1")[-1] == "tool_call_completed"


async def test_a_claim_that_cannot_be_written_keeps_the_tool_from_running(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="change", **WRITES))
        await lab.runtime.db.flush()
        await lab.runtime.db.close()
        outcome = (
            await lab.runtime.executor.run([CallRequest("c1", "change", {})], lab.call_context())
        )[0]
    assert (outcome.status, outcome.result.code) == ("error", "storage_unavailable")
    assert str(outcome.result.error).startswith("Not run: ")
    assert ran == []
