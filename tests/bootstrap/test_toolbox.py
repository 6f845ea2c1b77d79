"""The seeds' interface: the same calls, through the one executor."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest

from app.bootstrap.toolbox import NotStreaming, Toolbox
from app.core.errors import InvalidInput, NotFound, ToolNotFound
from tests.execution.lab import WRITES, AnyArgs, Lab, counted, made


def openai(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def box(lab: Lab, **options: Any) -> Toolbox:
    return Toolbox(lab.runtime, lab.session.log, **options)


@pytest.mark.requirement("REG-04", "REG-06")
async def test_tools_are_registered_got_listed_and_executed(lab: Lab):
    toolbox = box(lab)
    with counted() as (function, _):
        toolbox.register(made(function, name="note"))
        assert toolbox.get("nope") is None
        assert toolbox.get("note") is not None
        assert [(entry["type"], entry["function"]["name"]) for entry in toolbox.list_all()] == [
            ("function", "note")
        ]
        assert await toolbox.execute("note", {}) == {
            "success": True,
            "data": {"n": 1},
            "error": None,
        }
    assert await toolbox.execute("xyz", {}) == {
        "success": False,
        "data": {"suggestions": []},
        "error": "Tool not found: xyz",
    }
    assert "Tool not found: nope" in (await toolbox.execute("nope", {}))["error"]
    assert (await toolbox.execute("", {}))["success"] is False
    await lab.runtime.db.flush()
    assert len(lab.watcher.of("tool_call_completed")) == 3


@pytest.mark.requirement("EXE-01", "EXE-04", "EXE-11")
async def test_a_batch_gives_tool_messages_in_order_with_unescaped_text(lab: Lab):
    async def echo(args: AnyArgs, ctx: Any) -> dict[str, str]:
        return {"said": args.text}

    lab.add(made(echo))
    messages = await box(lab).process_tool_calls(
        [
            openai("c1", "echo", {"text": "你好"}),
            openai("c2", "echo", "{"),
            openai("c3", "nope", {}),
            openai("c4", "echo", {"text": "你好"}),
        ]
    )
    assert messages[0] == {
        "role": "tool",
        "tool_call_id": "c1",
        "name": "echo",
        "content": '{"success":true,"data":{"said":"你好"},"error":null}',
    }
    contents = [json.loads(message["content"]) for message in messages]
    assert [message["tool_call_id"] for message in messages] == ["c1", "c2", "c3", "c4"]
    assert contents[1]["error"].startswith("Invalid JSON arguments")
    assert contents[2]["code"] == "tool_not_found"
    assert contents[3] | {"skipped": True, "duplicate_of": "c1"} == contents[3]
    assert contents[3]["data"] == {"said": "你好"}
    assert await box(lab).process_tool_calls([]) == []


@pytest.mark.requirement("EXE-03")
@pytest.mark.parametrize("max_workers", [None, 0, 2, 50])
async def test_a_parallel_batch_keeps_the_order(lab: Lab, max_workers: int | None):
    async def echo(args: AnyArgs, ctx: Any) -> str:
        return args.text

    lab.add(made(echo))
    calls = [openai(f"c{n}", "echo", {"text": str(n)}) for n in range(10)]
    messages = await box(lab).process_tool_calls_parallel(calls, max_workers=max_workers)
    assert [json.loads(message["content"])["data"] for message in messages] == [
        str(n) for n in range(10)
    ]


@pytest.mark.requirement("CTX-01")
async def test_context_is_injected_and_without_one_nothing_is(house: Lab):
    seen: list[Any] = []

    async def look(args: AnyArgs, ctx: Any) -> str:
        seen.append((ctx.project_id, dict(ctx.model), dict(ctx.business), args.text))
        return "x"

    house.add(made(look))
    toolbox = box(house)
    await toolbox.process_tool_calls([openai("c1", "look", {"text": "a"})])
    context = {"model": "m", "max_tokens": 5, "project_id": "default", "channelId": 7}
    await toolbox.process_tool_calls([openai("c2", "look", {"text": "a"})], context)
    assert seen == [
        (None, {}, {}, "a"),
        ("default", {"model": "m", "max_tokens": 5}, {"channelId": 7}, "a"),
    ]


@pytest.mark.requirement("CTX-06", "CTX-07")
async def test_a_missing_and_an_unknown_project_fail_before_anything_runs(house: Lab):
    toolbox = box(house)
    arguments = {"path": "a.txt", "content": "x"}
    without = await toolbox.execute("file_write", arguments)
    assert without["error"] == "project_id is required for file operations"
    unknown = {"project_id": "prj_none"}
    assert (await toolbox.execute("file_write", arguments, unknown))["error"] == (
        "Project not found: prj_none"
    )
    with pytest.raises(NotFound, match="Project not found: prj_none"):
        await toolbox.process_tool_calls([openai("c1", "file_write", arguments)], unknown)
    assert list(house.runtime.settings.workspace_dir.iterdir()) == []


async def test_nobody_is_asked_unless_somebody_is_there(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="send", requires_confirmation=True, **WRITES))
        assert "No one is available" in (await box(lab).execute("send", {}))["error"]
    assert ran == []


async def test_calls_that_cannot_be_read_are_refused_before_anything_runs(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        unreadable: list[list[Any]] = [[{}], ["x"], [openai("c1", "note", {})] * 2]
        for broken in unreadable:
            with pytest.raises(InvalidInput):
                await box(lab).process_tool_calls(broken)
    assert ran == []


@pytest.mark.requirement("STR-01", "STR-02", "STR-03", "B-26")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_streaming_gives_each_chunk_to_both_and_one_done_last(
    lab: Lab, *, asynchronous: bool
):
    heard: list[dict[str, Any]] = []

    async def listen(event: dict[str, Any]) -> None:
        heard.append(event)

    async def three(args: AnyArgs, ctx: Any):
        for piece in ("a", "b", "c"):
            yield piece

    lab.add(made(three))
    chunks = [
        chunk
        async for chunk in box(lab).execute_streaming(
            "three", {}, listen if asynchronous else heard.append
        )
    ]
    assert chunks == ["a", "b", "c"]
    assert heard == [
        *({"type": "chunk", "data": piece} for piece in "abc"),
        {"type": "done", "tool": "three"},
    ]
    await lab.runtime.db.flush()
    assert len(lab.watcher.of("tool_call_started")) == 1


@pytest.mark.requirement("STR-04")
async def test_a_tool_that_does_not_stream_is_a_value_error(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        with pytest.raises(ValueError, match=r"^Tool note does not support streaming$") as caught:
            await anext(aiter(box(lab).execute_streaming("note", {})))
        assert isinstance(caught.value, NotStreaming)
        with pytest.raises(ToolNotFound):
            await anext(aiter(box(lab).execute_streaming("nope", {})))
    assert ran == []


async def test_a_stream_that_fails_ends_with_done_and_the_error(lab: Lab):
    heard: list[dict[str, Any]] = []

    async def breaks(args: AnyArgs, ctx: Any):
        yield "a"
        raise ValueError("b")

    lab.add(made(breaks))
    assert [c async for c in box(lab).execute_streaming("breaks", {}, heard.append)] == ["a"]
    assert (heard[-1]["type"], heard[-1]["success"]) == ("done", False)
    assert "ValueError: b" in heard[-1]["error"]


async def test_leaving_a_stream_cancels_the_call(lab: Lab):
    async def endless(args: AnyArgs, ctx: Any):
        while True:
            yield "x" * 4096

    lab.add(made(endless))
    async with aclosing(box(lab).execute_streaming("endless", {})) as stream:  # type: ignore[type-var]
        assert (await anext(stream)).startswith("x")
    completed = await lab.watcher.until("tool_call_completed")
    assert completed["status"] == "cancelled"
