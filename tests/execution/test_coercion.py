"""Arguments in another JSON type than the schema asks for: what is taken, and what is not."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from app.catalog.adapters import from_schema
from app.execution.calls import CallRequest
from app.execution.coercion import coerced
from app.toolkit.schema import model_schema
from app.toolkit.tool import Tool, ToolArgs
from tests.execution.lab import Lab, counted, made


class Item(ToolArgs):
    title: str
    amount: int = 1
    tags: list[str] = Field(default_factory=list)


class Fixed(ToolArgs):
    kind: Literal["fixed"]
    at: int


class Moving(ToolArgs):
    kind: Literal["moving"]
    at: str
    speed: float = 1.0


class Args(ToolArgs):
    count: int = 3
    price: float | None = None
    gift: bool = False
    note: str | None = None
    sizes: list[int] = Field(default_factory=list)
    items: list[Item] = Field(default_factory=list)
    place: Fixed | Moving | None = None
    by_name: dict[str, int] = Field(default_factory=dict)
    either: int | list[int] = 0


SCHEMA = model_schema(Args)


@pytest.mark.parametrize(
    ("given_arguments", "taken"),
    [
        ({"count": 5.0}, {"count": 5}),
        ({"count": "5"}, {"count": 5}),
        ({"count": " 5.0 "}, {"count": 5}),
        ({"count": None, "gift": None}, {}),
        ({"count": "null"}, {}),
        ({"count": "", "sizes": " "}, {}),
        ({"price": "2.50"}, {"price": 2.5}),
        ({"price": 2.0}, {"price": 2.0}),
        ({"price": None}, {"price": None}),
        ({"gift": "true"}, {"gift": True}),
        ({"gift": "False"}, {"gift": False}),
        ({"note": "5"}, {"note": "5"}),
        ({"note": "null"}, {"note": "null"}),
        ({"sizes": "[1, 2.0]"}, {"sizes": [1, 2]}),
        ({"sizes": "7"}, {"sizes": [7]}),
        ({"sizes": ["1", 2.0]}, {"sizes": [1, 2]}),
        ({"items": {"title": "a", "amount": 2.0}}, {"items": [{"title": "a", "amount": 2}]}),
        (
            {"items": '[{"title": "a", "amount": null, "tags": "x"}]'},
            {"items": [{"title": "a", "tags": ["x"]}]},
        ),
        ({"items": "[{'title': 'it''s', 'amount': None}]"}, {"items": [{"title": "its"}]}),
        ({"items": ['{"title": "a"}']}, {"items": [{"title": "a"}]}),
        ({"place": {"kind": "fixed", "at": "4"}}, {"place": {"kind": "fixed", "at": 4}}),
        ({"place": {"kind": "moving", "at": "4"}}, {"place": {"kind": "moving", "at": "4"}}),
        ({"by_name": {"a": 1.0, "b": "2"}}, {"by_name": {"a": 1, "b": 2}}),
        ({"either": "4"}, {"either": 4}),
        ({"either": "[4.0]"}, {"either": [4]}),
    ],
    ids=str,
)
def test_what_has_one_reading_is_taken_for_it(
    given_arguments: dict[str, Any], taken: dict[str, Any]
):
    assert repr(coerced(given_arguments, SCHEMA)) == repr(taken)


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": 5.5},
        {"count": "5.5"},
        {"count": "five"},
        {"count": "05"},
        {"count": True},
        {"count": 1e300},
        {"gift": 1},
        {"gift": "yes"},
        {"note": 5},
        {"items": [{"title": None}]},
        {"sizes": "[1, 2"},
        {"sizes": "[1, ["},
        {"sizes": "[" * 5000},
        {"items": "['a', {1, 2}]"},
        {"note": ""},
        {"items": "no object"},
        {"unknown": None},
    ],
    ids=str,
)
def test_what_has_none_or_several_is_left_for_validation(arguments: dict[str, Any]):
    assert coerced(arguments, SCHEMA) == arguments


def test_values_beyond_a_bound_are_left_as_they_are():
    many = {"sizes": [1.0] * 10_000}
    assert coerced(many, SCHEMA)["sizes"][-1] == 1.0
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    schema = {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"items": {"$ref": "#"}}}}
    assert coerced({"a": deep}, schema) == {"a": deep}


def test_references_in_a_circle_end():
    schema = {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert coerced({"a": "1"}, schema) == {"a": "1"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])), json_values))
def test_any_arguments_are_read_and_a_second_time_changes_nothing(arguments: dict[str, Any]):
    once = coerced(arguments, SCHEMA)
    assert repr(coerced(once, SCHEMA)) == repr(once)


async def test_equal_calls_are_equal_whichever_way_they_are_written(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        outcomes = await lab.run(
            CallRequest("c1", "note", {"number": 2}),
            CallRequest("c2", "note", '{"number": 2.0, "text": null}'),
        )
    assert [outcome.status for outcome in outcomes] == ["success", "skipped"]
    assert [args.number for args in ran] == [2]


def _schema_tool(seen: list[Any]) -> Tool:
    properties = {
        "limit": {"type": "integer", "minimum": 1},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
    }
    parameters = {"type": "object", "properties": properties, "required": ["limit"]}
    return from_schema("count_up", "Count.", parameters, seen.append)


async def test_a_handler_with_a_hand_written_schema_gets_what_its_schema_says(lab: Lab):
    seen: list[Any] = []
    lab.add(_schema_tool(seen))
    written: Any = {"limit": 2.0, "ids": "[1, 2.0]", "where": '{"deep": "true"}'}
    assert (await lab.call("count_up", **written)).success
    (got,) = seen
    assert got == {"limit": 2, "ids": [1, 2], "where": {"deep": True}}
    assert isinstance(got["limit"], int)
    assert (await lab.call("count_up", "c2", limit=None)).status == "invalid_arguments"
    assert (await lab.call("count_up", "c3", limit="0")).status == "invalid_arguments"


async def test_the_event_shows_what_the_tool_got(lab: Lab):
    with counted() as (function, _):
        lab.add(made(function, name="note"))
    await lab.call("note", number="7")
    assert lab.watcher.of("tool_call_started")[0]["args"] == {"number": 7}


async def test_the_project_of_the_call_may_stand_among_its_arguments(house: Lab):
    outcome = await house.call("file_read", path="../../../etc/passwd", project_id="default")
    assert outcome.result.code == "outside_workspace"
    written = await house.call("file_write", "c2", path="a", content="x", project_id="default")
    assert written.success


async def test_another_project_is_not_reached_by_an_argument(house: Lab):
    outcome = await house.call("file_write", path="a", content="x", project_id="other")
    assert outcome.status == "invalid_arguments"
    assert "project 'default'; omit project_id" in outcome.text
    assert not (await house.call("file_exists", "c2", path="a")).result.data["exists"]
