"""What a model is shown of a schema: less, and nothing that validation would refuse."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from app.catalog.model_schema import pruned

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
