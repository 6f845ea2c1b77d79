"""Definitions as models expect them.

What a model is shown of a schema: less, and nothing that validation would refuse.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from app.catalog.formats import build_request, pruned, render, to_anthropic, to_native, to_openai
from tests.catalog.factories import make_tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SHOWN = {**CITY, "additionalProperties": False}
WEATHER = make_tool("weather", "forecast", description="Weather of a city.", parameters=CITY)

LEAVES = st.sampled_from(
    [
        {"type": "string", "title": "A"},
        {"type": "integer", "minimum": 0, "$comment": "said to nobody"},
        {"type": "boolean", "default": False},
        {"enum": ["title", "x"], "title": "E"},
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "title": "N"},
    ]
)
OBJECTS = st.recursive(
    LEAVES,
    lambda inner: st.dictionaries(st.sampled_from(["title", "a", "default", "b"]), inner).map(
        lambda properties: {"type": "object", "title": "T", "properties": properties}
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["title", "x", ""]),
    lambda inner: st.dictionaries(st.sampled_from(["title", "a", "default", "b"]), inner),
    max_leaves=6,
)


@pytest.mark.requirement("REG-02")
def test_openai_form_wraps_name_description_and_parameters():
    assert to_openai(WEATHER) == {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Weather of a city.",
            "parameters": SHOWN,
        },
    }


def test_anthropic_form_calls_the_parameters_input_schema():
    assert to_anthropic(WEATHER) == {
        "name": "weather",
        "description": "Weather of a city.",
        "input_schema": SHOWN,
    }


def test_native_form_is_the_manifest():
    assert to_native(WEATHER) == WEATHER.manifest()
    assert render([WEATHER]) == [WEATHER.manifest()]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_providers_see_no_dots_in_names(form):
    assert "db.query" not in str(render([make_tool("db.query", description="Asks.")], form))


@pytest.mark.requirement("REG-26")
def test_a_request_offers_every_tool_and_leaves_the_choice_to_the_model():
    messages = [{"role": "user", "content": "Weather?"}]
    assert build_request(messages, [WEATHER]) == {
        "model": "glm-5",
        "messages": messages,
        "tools": [to_openai(WEATHER)],
        "tool_choice": "auto",
    }


@pytest.mark.requirement("REG-26")
def test_keywords_override_and_extend_the_request():
    body = build_request([], [WEATHER], model="m", tool_choice="none", stream=True)
    assert body == {
        "model": "m",
        "messages": [],
        "tools": [to_openai(WEATHER)],
        "tool_choice": "none",
        "stream": True,
    }


def test_a_request_without_tools_does_not_mention_them():
    assert build_request([], []) == {"model": "glm-5", "messages": []}


@given(OBJECTS, VALUES)
def test_what_the_shown_schema_allows_the_whole_one_allows_too(schema: dict[str, Any], value: Any):
    if Draft202012Validator(pruned(schema)).is_valid(value):
        assert Draft202012Validator(schema).is_valid(value)


@given(OBJECTS)
def test_pruning_twice_changes_nothing_more(schema: dict[str, Any]):
    assert pruned(pruned(schema)) == pruned(schema)


def test_an_argument_called_title_is_no_annotation():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Args",
        "type": "object",
        "properties": {"title": {"type": "string", "title": "Title"}},
        "required": ["title"],
    }
    assert pruned(schema) == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    }


def test_an_argument_that_may_be_left_out_is_shown_without_its_null():
    either = {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
        "default": None,
        "description": "How many.",
    }
    shown = pruned({"type": "object", "properties": {"limit": either}})
    assert shown["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "description": "How many.",
    }


def test_the_original_is_left_as_it_was():
    schema = {"type": "object", "title": "T", "properties": {"a": {"title": "A"}}}
    pruned(schema)
    assert schema == {"type": "object", "title": "T", "properties": {"a": {"title": "A"}}}
