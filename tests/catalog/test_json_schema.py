"""Hand-written schemas: what they enforce, and what may not be in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.catalog.errors import InvalidTool
from app.catalog.json_schema import MAX_PROBLEMS, compile_schema
from app.core.errors import InvalidArguments

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def problems_of(parameters: dict[str, Any], arguments: Any) -> list[dict[str, str]]:
    """What the validator of `parameters` says about `arguments`; [] when it accepts them."""
    _, validate = compile_schema(parameters)
    raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    try:
        validate(raw)
    except InvalidArguments as error:
        found: list[dict[str, Any]] = error.details["errors"]
        return found
    return []


def one(schema: dict[str, Any], value: Any) -> list[tuple[str, str, str]]:
    """Problems of one argument `a`, as (path, message, code)."""
    found = problems_of({"properties": {"a": schema}}, {"a": value})
    return [(item["path"], item["message"], item["code"]) for item in found]


@pytest.mark.parametrize(
    ("wanted", "wrong", "code"),
    [
        ("string", 1, "string_type"),
        ("integer", "1", "int_type"),
        ("integer", True, "int_type"),
        ("integer", 1.5, "int_type"),
        ("number", "1.5", "float_type"),
        ("number", False, "float_type"),
        ("boolean", 1, "bool_type"),
        ("array", {}, "list_type"),
        ("object", [], "dict_type"),
    ],
)
@pytest.mark.requirement("VAL-02")
def test_a_value_of_another_type_is_refused_by_name(wanted, wrong, code):
    assert one({"type": wanted}, wrong) == [("a", f"a should be {wanted}", code)]


@pytest.mark.parametrize(
    ("wanted", "right"),
    [
        ("string", "x"),
        ("integer", 3),
        ("number", 3),
        ("number", 1.5),
        ("boolean", True),
        ("array", [1]),
        ("object", {}),
        (["string", "null"], None),
    ],
)
@pytest.mark.requirement("VAL-02")
def test_a_value_of_the_right_type_passes(wanted, right):
    assert one({"type": wanted}, right) == []


@pytest.mark.requirement("VAL-03")
def test_a_value_outside_an_enum_is_shown_the_choices():
    message = "a must be one of ['asc', 'desc']"
    assert one({"enum": ["asc", "desc"]}, "up") == [("a", message, "literal_error")]


@pytest.mark.parametrize(
    ("schema", "value", "message", "code"),
    [
        ({"minimum": 1}, 0, "a must be >= 1", "greater_than_equal"),
        ({"maximum": 9}, 10, "a must be <= 9", "less_than_equal"),
        ({"exclusiveMinimum": 1}, 1, "a must be > 1", "greater_than"),
        ({"exclusiveMaximum": 9}, 9, "a must be < 9", "less_than"),
        ({"minLength": 2}, "x", "a must be at least 2 characters long", "string_too_short"),
        ({"maxLength": 2}, "xyz", "a must be at most 2 characters long", "string_too_long"),
        ({"minItems": 1}, [], "a must have at least 1 items", "too_short"),
        ({"maxItems": 1}, [1, 2], "a must have at most 1 items", "too_long"),
        (
            {"uniqueItems": True},
            [{"x": 1}, {"x": 1}],
            "a must not contain duplicate items",
            "unique_items",
        ),
        ({"pattern": "^[a-z]+$"}, "A", "a must match ^[a-z]+$", "string_pattern_mismatch"),
        ({"const": 4}, 5, "a must be 4", "literal_error"),
    ],
)
@pytest.mark.requirement("VAL-04")
def test_a_value_out_of_range_is_shown_the_limit(schema, value, message, code):
    assert one(schema, value) == [("a", message, code)]


@pytest.mark.parametrize(
    ("schema", "value", "named"),
    [
        ({"minimum": 1}, 0, {"ge": 1}),
        ({"maximum": 9}, 10, {"le": 9}),
        ({"exclusiveMinimum": 1}, 1, {"gt": 1}),
        ({"exclusiveMaximum": 9}, 9, {"lt": 9}),
        ({"multipleOf": 2}, 3, {"multiple_of": 2}),
        ({"minLength": 2}, "x", {"min_length": 2}),
        ({"maxItems": 1}, [1, 2], {"max_length": 1}),
        ({"maxProperties": 0}, {"b": 1}, {"max_length": 0}),
        ({"pattern": "^[a-z]+$"}, "A", {"pattern": "^[a-z]+$"}),
        ({"enum": ["asc", 1]}, "up", {"expected": "'asc', 1"}),
        ({"const": "x"}, "up", {"expected": "'x'"}),
    ],
)
def test_limits_and_choices_have_the_names_that_argument_models_give_them(schema, value, named):
    (problem,) = problems_of({"properties": {"a": schema}}, {"a": value})
    assert problem["values"] == named


@pytest.mark.requirement("VAL-05")
def test_each_missing_argument_is_named():
    schema = {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}
    assert problems_of(schema, {}) == [
        {"path": "a", "message": "missing required a", "code": "missing"},
        {"path": "b", "message": "missing required b", "code": "missing"},
    ]


@pytest.mark.requirement("VAL-06")
def test_nested_problems_carry_the_path():
    item = {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["d"]}
    schema = {"properties": {"a": {"properties": {"b": {"type": "array", "items": item}}}}}
    found = problems_of(schema, {"a": {"b": [{"c": "x", "d": 1}, {"c": 1}]}})
    assert [problem["path"] for problem in found] == ["a.b[1].c", "a.b[1].d"]


@pytest.mark.requirement("VAL-07")
def test_all_problems_are_reported_at_once():
    schema = {"properties": {"a": {"type": "string"}, "b": {"minimum": 1}}, "required": ["c"]}
    _, validate = compile_schema(schema)
    with pytest.raises(InvalidArguments) as caught:
        validate(b'{"a": 1, "b": 0, "z": 0}')
    assert caught.value.message == (
        "Invalid arguments: a should be string; b must be >= 1; missing required c; "
        "unknown argument z"
    )
    assert len(caught.value.details["errors"]) == 4


def test_the_report_of_a_hopeless_call_stays_short():
    schema = {"properties": {"a": {"items": {"type": "string"}}}}
    assert len(problems_of(schema, {"a": [1] * 5000})) == MAX_PROBLEMS
    assert len(str(one({"type": "integer"}, "x" * 100_000))) < 200


@pytest.mark.parametrize("raw", [b"{", b"", b'{"a": NaN}', b"\xff", b"[" * 5000])
def test_what_is_not_json_is_refused(raw):
    assert [problem["code"] for problem in problems_of({}, raw)] == ["json_invalid"]


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"x"', b"1"])
def test_arguments_must_be_an_object(raw):
    assert problems_of({}, raw) == [
        {"path": "arguments", "message": "arguments should be object", "code": "dict_type"}
    ]


def test_alternatives_say_why_none_of_them_fits():
    found = one({"anyOf": [{"type": "string"}, {"minimum": 5, "type": "integer"}]}, 1)
    message = "a matches none of the allowed forms: a should be string | a must be >= 5"
    assert found == [("a", message, "union_error")]
    found = one({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1)
    assert found == [("a", "a matches more than one of the allowed forms", "union_error")]


def test_an_unusual_keyword_still_gives_a_sentence_and_a_code():
    schema = {"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}}
    assert [problem["code"] for problem in problems_of(schema, {"a": 1})] == ["dependentRequired"]
    assert one({"not": {}}, 1)[0][2] == "not"


def test_pattern_properties_and_additional_properties_work_together():
    schema = {
        "patternProperties": {"^x_": {"type": "integer"}},
        "additionalProperties": {"type": "string"},
    }
    assert problems_of(schema, {"x_a": 1, "b": "text"}) == []
    found = problems_of(schema, {"x_a": "1", "b": 2})
    assert [(item["path"], item["code"]) for item in found] == [
        ("b", "string_type"),
        ("x_a", "int_type"),
    ]


def test_the_root_is_closed_unless_it_says_otherwise():
    closed, _ = compile_schema({"properties": {}})
    assert closed == {"type": "object", "properties": {}, "additionalProperties": False}
    opened, validate = compile_schema({"properties": {}}, closed=False)
    assert opened == {"type": "object", "properties": {}}
    assert validate(b'{"a": 1}') == {"a": 1}
    kept, _ = compile_schema({"additionalProperties": True})
    assert kept["additionalProperties"] is True


def test_later_changes_to_the_authors_schema_change_nothing():
    mine: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    schema, _ = compile_schema(mine)
    mine["properties"]["a"]["type"] = "integer"
    assert schema["properties"]["a"] == {"type": "string"}


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"type": "array"}, "must be an object schema"),
        ({"properties": {"a": {"type": "text"}}}, "not a valid JSON Schema: properties/a/type"),
        ({"properties": {"a": {"minimum": "1"}}}, "not a valid JSON Schema"),
        ({"required": "a"}, "not a valid JSON Schema"),
        ({"properties": {"a": {"pattern": "("}}}, "RE2|not a valid JSON Schema"),
        ({"properties": {"a": {"pattern": "(?=x)x"}}}, "RE2"),
        ({"patternProperties": {"(?!x)": {}}}, "RE2"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:1/x.json"}}}, "points outside the schema"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "points outside the schema"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "cannot be resolved"),
        ({"$defs": {"a": {"$id": "http://127.0.0.1:1/"}}}, "at the root"),
        ({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, "remove one"),
        ({"properties": {"a": {"default": {1, 2}}}}, "plain JSON"),
        ("text", "must be a JSON Schema object"),
        (None, "must be a JSON Schema object"),
    ],
)
def test_a_schema_that_cannot_be_enforced_here_is_refused(parameters, reason):
    with pytest.raises(InvalidTool, match=reason):
        compile_schema(parameters)


def test_a_schema_nested_without_end_is_refused():
    schema: dict[str, Any] = {}
    for _ in range(2000):
        schema = {"properties": {"a": schema}}
    with pytest.raises(InvalidTool):
        compile_schema(schema)


def test_local_references_are_followed_also_recursive_ones():
    tree = {"properties": {"child": {"$ref": "#/$defs/tree"}, "n": {"type": "integer"}}}
    schema = {"$defs": {"tree": tree}, "properties": {"root": {"$ref": "#/$defs/tree"}}}
    found = problems_of(schema, {"root": {"child": {"child": {"n": "x"}}}})
    assert [problem["path"] for problem in found] == ["root.child.child.n"]


def test_a_reference_that_leads_in_a_circle_is_an_error_of_the_call_not_a_crash():
    schema = {"$defs": {"a": {"$ref": "#/$defs/a"}}, "properties": {"x": {"$ref": "#/$defs/a"}}}
    assert [problem["code"] for problem in problems_of(schema, {"x": 1})] == ["out_of_range"]


def test_a_number_beyond_floating_point_is_an_error_of_the_call_not_a_crash():
    raw = b'{"a": 1' + b"0" * 400 + b"}"
    schema = {"properties": {"a": {"multipleOf": 0.5}}}
    assert [problem["code"] for problem in problems_of(schema, raw)] == ["out_of_range"]


@given(JSON)
def test_any_json_is_accepted_or_refused_with_paths(value):
    schema = {
        "properties": {"": {"type": "string"}, "0": {"items": {"enum": [1]}, "minItems": 1}},
        "required": ["0"],
    }
    for problem in problems_of(schema, value):
        assert problem.keys() - {"values"} == {"path", "message", "code"}
        assert problem["message"]


_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_COSTLY = {"type": "string", "pattern": "^(a+)+$"}


def test_a_dialect_within_the_schema_is_refused():
    nested = {"properties": {"a": {"$schema": _DRAFT, **_COSTLY}}}
    with pytest.raises(InvalidTool, match=r"`\$schema` is only allowed at the root"):
        compile_schema(nested)


def test_a_dialect_at_the_root_brings_no_other_patterns_when_a_reference_leads_back():
    # By a backtracking matcher these letters would take longer than anybody waits.
    letters = "a" * 5000 + "!"
    schema = {"$schema": _DRAFT, "properties": {"a": _COSTLY, "next": {"$ref": "#"}}}
    found = problems_of(schema, {"next": {"next": {"a": letters}}})
    assert [item["path"] for item in found] == ["next.next.a"]
