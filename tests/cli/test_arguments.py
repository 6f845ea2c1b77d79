from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.cli.arguments import parse_pairs, single_text_argument
from app.core.errors import InvalidInput
from app.tools.data.calculator import calculator
from app.tools.search.grep import grep
from app.tools.shell.bash import bash

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"$ref": "#/$defs/Number"}},
        "extra": {"type": "object"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "mode": {"enum": ["fast", "slow"]},
        "any": {},
    },
    "$defs": {"Number": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["text=5"], {"text": "5"}),
        (["text=a=b=c"], {"text": "a=b=c"}),
        (["text="], {"text": ""}),
        (["maybe=null"], {"maybe": "null"}),
        (["count=-5"], {"count": -5}),
        (["count=5.5"], {"count": "5.5"}),
        (["count=many"], {"count": "many"}),
        (["ratio=0.5"], {"ratio": 0.5}),
        (["ratio=NaN"], {"ratio": "NaN"}),
        (["flag=true"], {"flag": True}),
        (["flag=no"], {"flag": False}),
        (["flag=perhaps"], {"flag": "perhaps"}),
        (["names=a"], {"names": ["a"]}),
        (["names=1", "names=2"], {"names": ["1", "2"]}),
        (['names=["a", "b"]'], {"names": ["a", "b"]}),
        (["numbers=1", "numbers=2"], {"numbers": [1, 2]}),
        (['extra={"a": 1}'], {"extra": {"a": 1}}),
        (["limit=null"], {"limit": None}),
        (["limit=7"], {"limit": 7}),
        (["mode=fast"], {"mode": "fast"}),
        (["any=[1]"], {"any": [1]}),
        (["unknown=1"], {"unknown": 1}),
    ],
)
def test_a_value_gets_the_type_that_the_schema_names(words, arguments):
    assert parse_pairs(words, SCHEMA) == arguments


def test_every_value_of_an_unknown_tool_stays_text():
    assert parse_pairs(["a=1", "b=true"], None) == {"a": "1", "b": "true"}


def test_another_name_of_an_argument_is_typed_as_the_argument():
    assert parse_pairs(["n=3"], SCHEMA, {"n": "count"}) == {"n": 3}


@pytest.mark.parametrize("words", [["text"], ["=x"], ["text=a", "text=b"]])
def test_words_that_cannot_be_read_are_refused(words):
    with pytest.raises(InvalidInput):
        parse_pairs(words, SCHEMA)


@given(st.text(max_size=200))
def test_any_text_reaches_a_text_argument_unchanged(text):
    assert parse_pairs([f"text={text}"], SCHEMA) == {"text": text}


@example("count", "0\x1f")
@given(st.sampled_from(sorted(SCHEMA["properties"])), st.text(max_size=60))
def test_no_value_breaks_the_reading(key, text):
    assert set(parse_pairs([f"{key}={text}"], SCHEMA)) == {key}


def test_the_one_required_text_argument_of_a_tool_is_known():
    found = [single_text_argument(tool.parameters) for tool in (bash, calculator, grep)]
    assert found == ["command", "expression", "pattern"]
    assert single_text_argument({"required": ["a", "b"]}) is None
    assert (
        single_text_argument({"required": ["n"], "properties": {"n": {"type": "integer"}}}) is None
    )
