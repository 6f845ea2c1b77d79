"""Argument models: the schema they give and the problems they report."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from pydantic import Field

from app.catalog.json_schema import compile_schema
from app.core.errors import InvalidArguments
from app.toolkit.schema import argument_validator, model_schema, path_label
from app.toolkit.tool import ToolArgs


class Item(ToolArgs):
    """One item."""

    title: str
    tags: list[str] = Field(default_factory=list)


class OrderArgs(ToolArgs):
    """An order."""

    item: Item
    more: list[Item] = Field(default_factory=list)
    count: int = Field(default=1, ge=1, le=9)
    price: float = 0.0
    gift: bool = False
    sort: Literal["asc", "desc"] = "asc"
    extra: dict[str, int] = Field(default_factory=dict)


def problems_of(raw: str) -> list[tuple[str, str]]:
    """(path, code) of every problem."""
    try:
        argument_validator(OrderArgs)(raw.encode())
    except InvalidArguments as error:
        return [(item["path"], item["code"]) for item in error.details["errors"]]
    return []


def order(fields: str) -> str:
    return '{"item": {"title": "x"}, ' + fields + "}"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ('"count": "1"', ("count", "int_type")),
        ('"count": true', ("count", "int_type")),
        ('"price": "1.5"', ("price", "float_type")),
        ('"gift": 1', ("gift", "bool_type")),
        ('"more": {}', ("more", "list_type")),
        ('"extra": []', ("extra", "dict_type")),
    ],
)
@pytest.mark.requirement("VAL-02")
def test_nothing_is_coerced_to_another_type(fields, problem):
    assert problems_of(order(fields)) == [problem]


@pytest.mark.requirement("VAL-02")
def test_an_integer_is_a_number():
    assert problems_of(order('"price": 3')) == []


@pytest.mark.requirement("VAL-03")
def test_a_value_outside_an_enum_is_shown_the_choices():
    with pytest.raises(InvalidArguments, match=r"sort must be one of \['asc', 'desc'\]"):
        argument_validator(OrderArgs)(order('"sort": "up"').encode())


@pytest.mark.parametrize(("count", "code"), [(0, "greater_than_equal"), (10, "less_than_equal")])
@pytest.mark.requirement("VAL-04")
def test_a_number_out_of_range_is_refused(count, code):
    assert problems_of(order(f'"count": {count}')) == [("count", code)]


@pytest.mark.requirement("VAL-05", "VAL-06", "VAL-07")
def test_all_problems_are_reported_with_their_paths():
    raw = '{"item": {}, "more": [{"title": "x", "tags": ["a", 2]}], "count": 0, "colour": 1}'
    assert problems_of(raw) == [
        ("item.title", "missing"),
        ("more[0].tags[1]", "string_type"),
        ("count", "greater_than_equal"),
        ("colour", "extra_forbidden"),
    ]


@pytest.mark.requirement("VAL-07")
def test_the_message_names_every_problem():
    with pytest.raises(
        InvalidArguments, match=r"^Invalid arguments: missing required item; count must be >= 1$"
    ):
        argument_validator(OrderArgs)(b'{"count": 0}')


@pytest.mark.requirement("VAL-09")
def test_titles_are_dropped_but_an_argument_called_title_stays():
    schema = model_schema(OrderArgs)
    item = schema["$defs"]["Item"]
    assert item["properties"]["title"] == {"type": "string"}
    assert "title" not in item
    assert "title" not in schema
    assert "description" not in schema


@pytest.mark.requirement("VAL-09")
def test_a_model_without_fields_still_gives_an_object_schema():
    class NoArgs(ToolArgs):
        pass

    assert model_schema(NoArgs) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("location", "label"),
    [((), "arguments"), (("a",), "a"), (("a", "b", 0), "a.b[0]"), ((0, "a"), "[0].a")],
)
@pytest.mark.requirement("VAL-06")
def test_a_location_reads_like_code(location, label):
    assert path_label(location) == label


@pytest.mark.requirement("VAL-02", "VAL-03", "VAL-04", "VAL-05")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"price": "x"}, "price should be number"),
        ({"count": 1.5}, "count should be integer"),
        ({"gift": "x"}, "gift should be boolean"),
        ({"more": "x"}, "more should be array"),
        ({"item": "x"}, "item should be object"),
        ({"item": {"title": 5}}, "item.title should be string"),
        ({"item": {}}, "missing required item.title"),
        ({"sort": "up"}, "sort must be one of ['asc', 'desc']"),
        ({"count": 0}, "count must be >= 1"),
        ({"cuont": 1}, "unknown argument cuont; did you mean count?"),
    ],
)
def test_arguments_are_refused_in_the_words_that_hand_written_schemas_have(arguments, message):
    given = {"item": {"title": "x"}} | arguments
    with pytest.raises(InvalidArguments) as caught:
        argument_validator(OrderArgs)(json.dumps(given).encode())
    assert [item["message"] for item in caught.value.details["errors"]] == [message]
    assert caught.value.message == f"Invalid arguments: {message}"
    if "cuont" not in arguments:
        schema = {key: item for key, item in model_schema(OrderArgs).items() if key != "required"}
        with pytest.raises(InvalidArguments) as other:
            compile_schema(schema)[1](json.dumps(given).encode())
        assert other.value.message == caught.value.message
