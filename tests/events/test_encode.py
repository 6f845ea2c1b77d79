"""The hot events are spliced from bytes; the models stay their definition."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text import dump_json
from app.events.encode import (
    call_part,
    call_started,
    durable_head,
    ephemeral,
    run_part,
    session_part,
)
from app.events.union import server_message
from app.execution.calls import CallRequest
from app.governance.agents import AgentProfile
from app.toolkit.context import Output
from app.toolkit.result import RawResult, ToolResult
from tests.execution.lab import AnyArgs, Lab, made

HOT = {"tool_call_started", "tool_call_completed", "tool_result_streamed"}


async def every_way_to_end(lab: Lab) -> None:
    """Calls whose events carry every field that the recorder ever writes."""

    async def streams(args: AnyArgs, ctx: Any):
        yield Output("Grüße \u2028 \x00\n", "stderr")
        yield Output("x" * 5000)
        yield ToolResult.ok(
            {"f": 1e-7, "big": 1e21, "n": None},
            text="done",
            raw_result=RawResult("json", {"a": [None, 1.5, "é"]}),
        )

    async def fails(args: AnyArgs, ctx: Any) -> ToolResult:
        return ToolResult.fail("no", data={"x": None})

    async def odd(args: AnyArgs, ctx: Any) -> ToolResult:
        return ToolResult.ok("\ud800", text="\ud800", raw_result=RawResult("text", "\ud800"))

    lab.add(made(streams, max_output_chars=1000), made(fails), made(odd))
    await lab.runtime.agents.create(AgentProfile(id="writer"), actor="ann")
    await lab.run(
        CallRequest("c1", "streams", {"text": "a\u2029😀"}),
        CallRequest("c2", "fails", {"number": 7}),
        CallRequest("c3", "fails", {"number": 7}),
        CallRequest("c4", "odd", {}),
        CallRequest("c5", "nope", {"deep": {"null": None, "f": 0.1}}),
        CallRequest("c6", "fails", "{"),
        CallRequest("c7", "fails", {"password": "x", "text": "y" * 40_000}),
        run_id="run_1",
        agent_id="writer",
        message_id="msg_1",
    )


async def test_the_hot_bytes_are_the_model_s_own(lab: Lab):
    await every_way_to_end(lab)
    seen = set()
    for frame in lab.watcher.frames:
        event = server_message.validate_json(frame.body)
        if event.type in HOT:
            seen.add(event.type)
            assert frame.body.decode() == event.model_dump_json(exclude_none=True)
    assert seen == HOT


async def test_every_event_of_a_call_loads_as_its_model(lab: Lab):
    await every_way_to_end(lab)
    for frame in lab.watcher.frames:
        server_message.validate_json(frame.body)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_arguments_give_a_started_event_with_those_arguments(value: Any):
    ids = call_part(run_part(None, "a"), "c1", "op_1")
    args = dump_json({"value": value}).decode()
    fields = call_started(
        ids, '"t"', '"t"', "read", args, "[]", "main", asks=False, index=0, message_id=None
    )
    head = durable_head(
        "tool_call_started", "2026-01-01T00:00:00.000Z", session_part("ses_1", "ep_1"), 1
    )
    body = (head + fields).encode()
    event = server_message.validate_json(body)
    assert event.type == "tool_call_started"
    assert event.args == {"value": value}
    assert json.loads(event.model_dump_json(exclude_none=True)) == json.loads(body)


anything = st.recursive(
    st.none()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.builds(object)
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.integers() | st.none(), inner, max_size=4)
        | st.sets(st.integers(), max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@given(anything)
def test_whatever_python_holds_becomes_json(value: Any):
    json.loads(dump_json(value), parse_constant=pytest.fail)


def test_what_is_nested_without_end_or_too_deeply_is_cut():
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert "…" in dump_json(deep).decode()
    endless: dict[str, Any] = {}
    endless["self"] = endless
    assert "…" in dump_json(endless).decode()


def test_live_output_names_the_event_before_it():
    fields = {"message_id": "m"}
    now, part = "2026-01-01T00:00:00.000Z", session_part("s", "e")
    body = json.loads(ephemeral("text_delta", now, part, 4, fields))
    assert (body["after_seq"], body["v"], body["epoch"]) == (4, 1, "e")
