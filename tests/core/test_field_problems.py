"""What is told of an invalid field, and what is not."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, ValidationError
from pydantic_core import PydanticCustomError

from app.core.field_problems import (
    MAX_MESSAGE,
    MAX_SHOWN,
    MAX_VALUE,
    FieldError,
    field_problem,
    problem,
    problems_in,
)

SENT = "what-was-sent"


def _own(text: str) -> str:
    if text == "custom":
        raise PydanticCustomError("of_a_plugin", "no {sent}", {"sent": text})
    if text == "own":
        raise FieldError("a needs b", code="needs", given="a", needed="b", sent=SENT)
    if text == "plain":
        raise ValueError("is not liked")
    return text


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


class Order(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    count: int = Field(default=1, ge=1, le=9)
    price: float = Field(default=1, gt=0.5, lt=9.5)
    name: str = Field(default="abc", min_length=2, max_length=4, pattern="^[a-z]+$")
    sort: Literal["asc", "desc"] = "asc"
    tags: list[str] = Field(default_factory=list, max_length=1)
    pet: Annotated[Cat | Dog, Discriminator("kind")] = Field(default_factory=Cat)
    note: Annotated[str, AfterValidator(_own)] = ""


def found(**fields: Any) -> dict[str, Any]:
    """The one problem of an order with such fields."""
    with pytest.raises(ValidationError) as caught:
        Order.model_validate(fields)
    (item,) = caught.value.errors(include_url=False, include_input=False)
    return field_problem("p", item)


@pytest.mark.parametrize(
    ("fields", "code", "values"),
    [
        ({"count": 0}, "greater_than_equal", {"ge": 1}),
        ({"count": 10}, "less_than_equal", {"le": 9}),
        ({"price": 0.5}, "greater_than", {"gt": 0.5}),
        ({"price": 9.5}, "less_than", {"lt": 9.5}),
        ({"name": "a"}, "string_too_short", {"min_length": 2}),
        ({"name": "abcde"}, "string_too_long", {"max_length": 4}),
        ({"name": "AB"}, "string_pattern_mismatch", {"pattern": "^[a-z]+$"}),
        ({"sort": SENT}, "literal_error", {"expected": "'asc' or 'desc'"}),
        ({"tags": ["a", "b"]}, "too_long", {"max_length": 1}),
        ({"pet": {"kind": SENT}}, "union_tag_invalid", {"expected_tags": "'cat', 'dog'"}),
        ({"note": "own"}, "needs", {"given": "a", "needed": "b"}),
    ],
)
def test_limits_and_choices_are_reported_and_not_what_was_sent(
    fields: dict[str, Any], code: str, values: dict[str, Any]
):
    reported = found(**fields)
    assert (reported["path"], reported["code"], reported["values"]) == ("p", code, values)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({SENT: 1}, "extra_forbidden"),
        ({"count": SENT}, "int_type"),
        ({"note": "custom"}, "of_a_plugin"),
        ({"note": "plain"}, "value_error"),
    ],
)
def test_where_nothing_of_ours_is_named_there_are_no_values(fields: dict[str, Any], code: str):
    reported = found(**fields)
    assert reported["code"] == code
    assert reported.keys() == {"path", "message", "code"}


def test_a_validators_sentence_stands_without_a_lead():
    assert found(note="own")["message"] == "a needs b"
    assert found(note="plain")["message"] == "is not liked"


def test_a_long_value_is_cut():
    reported = problem("p", "…", "literal_error", {"expected": "x" * 1000, "ge": None})
    assert reported["values"].keys() == {"expected"}
    assert len(reported["values"]["expected"]) == MAX_VALUE


def test_only_the_first_problems_go_beside_a_message_and_none_is_long():
    listed = [problem(str(at), "x" * 1000, "missing") for at in range(MAX_SHOWN + 1)]
    reported = problems_in({"errors": listed})
    assert [item["path"] for item in reported] == [str(at) for at in range(MAX_SHOWN)]
    assert {len(item["message"]) for item in reported} == {MAX_MESSAGE}


@pytest.mark.parametrize("details", [None, {}, {"errors": None}, {"errors": ["text", {}]}, []])
def test_details_of_another_shape_name_no_fields(details: Any):
    assert problems_in(details) == []
