"""`json_process`: reading strictly, the seeds' operations, pointers, differences, patches."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import InvalidArguments, ToolFailed
from app.toolkit.context import ToolContext
from app.tools.data.json_changes import compare, merge
from app.tools.data.json_pointer import get, pointer, put, split
from app.tools.data.json_process import json_process
from app.tools.data.json_text import equal, parse
from tests.tools.calls import call

CONTEXT = ToolContext(tool_call_id="call_1", operation_id="call_1")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/~é", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


async def process(json_string: str, operation: str, **arguments):
    return await call(
        json_process, CONTEXT, json_string=json_string, operation=operation, **arguments
    )


@pytest.mark.requirement("DAT-03")
@pytest.mark.parametrize(
    ("operation", "text", "data"),
    [
        ("parse", ' {"a": [1, 2.5, null, true]} ', {"data": {"a": [1, 2.5, None, True]}}),
        ("format", '{"é":[1,{}]}', {"result": '{\n  "é": [\n    1,\n    {}\n  ]\n}'}),
        ("keys", '{"b": 1, "a": 2}', {"keys": ["b", "a"]}),
        ("validate", "[]", {"valid": True}),
    ],
)
async def test_the_operations_of_the_seeds_have_their_keys(operation, text, data):
    assert (await process(text, operation)).data == data


@pytest.mark.requirement("DAT-03")
@pytest.mark.parametrize("operation", ["parse", "format", "keys", "validate"])
async def test_what_is_no_json_fails_in_the_words_of_the_seeds(operation):
    result = await process('{"a": }', operation)
    assert (result.success, result.error, result.code) == (
        False,
        "JSON parse error: Expecting value: line 1 column 7 (char 6)",
        "json_parse_error",
    )


@pytest.mark.requirement("DAT-03")
@pytest.mark.parametrize("text", ["[1]", "3", "null"])
async def test_only_an_object_has_keys(text):
    result = await process(text, "keys")
    assert (result.success, result.error) == (False, "JSON root element is not an object")


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ('{"a": 1, "a": 2}', "duplicate key 'a'", "duplicate_key"),
        ("[NaN]", "NaN is not JSON; use null or a number", "json_parse_error"),
        ("-Infinity", "-Infinity is not JSON; use null or a number", "json_parse_error"),
        ("1e999", "the number 1e999 is too large", "json_parse_error"),
        ("9" * 5000, "a number has more than 1000 digits", "json_parse_error"),
        ("[" * 61 + "]" * 61, "nested more than 60 levels deep", "too_deep"),
        ("[" * 100_000, "nested more than 60 levels deep", "too_deep"),
        ('{"a":' * 100_000, "nested more than 60 levels deep", "too_deep"),
        ("", "Expecting value: line 1 column 1 (char 0)", "json_parse_error"),
        ("'a'", "Expecting value: line 1 column 1 (char 0)", "json_parse_error"),
        ("[1] 2", "Extra data: line 1 column 5 (char 4)", "json_parse_error"),
    ],
)
async def test_what_readers_would_take_differently_is_refused(text, error, code):
    result = await process(text, "validate")
    assert (result.error, result.code) == (f"JSON parse error: {error}", code)


async def test_an_integer_of_any_size_keeps_its_digits():
    result = await process("[123456789012345678901234567890]", "format")
    assert "123456789012345678901234567890" in result.data["result"]


async def test_half_a_surrogate_pair_does_not_break_the_answer():
    result = await process('"\\ud800"', "parse")
    assert json.loads(result.to_json())["success"] is True


@pytest.mark.parametrize(
    ("at", "value"),
    [("", {"a/b": [1, {"~": 2}]}), ("/a~1b/0", 1), ("/a~1b/1/~0", 2)],
)
async def test_a_pointer_leads_to_a_value(at, value):
    assert (await process('{"a/b": [1, {"~": 2}]}', "get", pointer=at)).data == {"data": value}


@pytest.mark.parametrize(
    ("at", "code"),
    [
        ("a", "bad_pointer"),
        ("/a~2", "bad_pointer"),
        ("/b", "not_found"),
        ("/a/2", "not_found"),
        ("/a/-1", "not_found"),
        ("/a/01", "not_found"),
        ("/a/-", "not_found"),
        ("/a/0/x", "not_found"),
        ("/a/99999999999999999999", "not_found"),
    ],
)
async def test_a_pointer_that_leads_nowhere_is_a_typed_failure(at, code):
    result = await process('{"a": [1, 2]}', "get", pointer=at)
    assert (result.success, result.code) == (False, code)


@pytest.mark.parametrize(
    ("at", "data"),
    [
        ("", 9),
        ("/a/0", {"a": [9, 2]}),
        ("/a/-", {"a": [1, 2, 9]}),
        ("/a/2", {"a": [1, 2, 9]}),
        ("/new", {"a": [1, 2], "new": 9}),
    ],
)
async def test_a_value_is_set_at_a_pointer(at, data):
    result = await process('{"a": [1, 2]}', "set", pointer=at, other="9")
    assert result.data == {"data": data}


@pytest.mark.parametrize("at", ["/a/5", "/b/c", "/a/x"])
async def test_nothing_is_set_where_there_is_no_place(at):
    result = await process('{"a": [1, 2]}', "set", pointer=at, other="9")
    assert result.code == "not_found"


async def test_setting_does_not_nest_deeper_than_reading():
    deep = "[" * 40 + "]" * 40
    result = await process(deep, "set", pointer="/0" * 39 + "/-", other=deep)
    assert result.code == "too_deep"


async def test_a_difference_names_what_was_added_removed_and_changed():
    result = await process(
        '{"a": 1, "b": [1, 2, 3], "c": true, "same": 1}',
        "diff",
        other='{"a": 2, "b": [1, 5], "d": null, "same": 1.0}',
    )
    assert result.data == {
        "equal": False,
        "added": [{"path": "/d", "value": None}],
        "removed": [{"path": "/b/2", "value": 3}, {"path": "/c", "value": True}],
        "changed": [{"path": "/a", "old": 1, "new": 2}, {"path": "/b/1", "old": 2, "new": 5}],
        "total": 5,
        "truncated": False,
    }


async def test_true_is_not_one_and_equal_values_are_equal():
    assert (await process("[1]", "diff", other="[true]")).data["total"] == 1
    same = await process('{"a":1,"b":2}', "diff", other='{"b":2,"a":1.0}')
    assert (same.data["equal"], same.text) == (True, "The values are equal.")


async def test_of_many_differences_the_first_thousand_are_named():
    result = await process("[]", "diff", other=json.dumps(list(range(1500))))
    assert (len(result.data["added"]), result.data["total"]) == (1000, 1500)
    assert result.data["truncated"] is True


async def test_a_problem_of_the_second_text_names_it():
    result = await process("{}", "diff", other="{")
    assert result.error.startswith("JSON parse error: other: Expecting")


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], {"a": "b", "c": None}, {"a": "b"}),
        ({"a": "foo"}, None, None),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
async def test_a_merge_patch_does_what_the_standard_says(target, patch, merged):
    result = await process(json.dumps(target), "merge_patch", other=json.dumps(patch))
    assert result.data == {"data": merged}


@pytest.mark.parametrize(
    ("operation", "needed"),
    [("query", "query"), ("get", "pointer"), ("diff", "other"), ("schema_validate", "other")],
)
async def test_an_operation_without_what_it_needs_is_refused(operation, needed):
    with pytest.raises(InvalidArguments, match=f"operation {operation} requires {needed}"):
        await process("{}", operation)


async def test_setting_needs_a_value():
    with pytest.raises(InvalidArguments, match="requires other"):
        await process("{}", "set", pointer="/a")


def _applied(old, differences):
    value = copy.deepcopy(old)
    for row in differences.changed:
        value = put(value, row["path"], row["new"])
    for row in reversed(differences.removed):
        holder, last = get(value, pointer(split(row["path"])[:-1])), split(row["path"])[-1]
        del holder[int(last) if isinstance(holder, list) else last]
    for row in differences.added:
        value = put(value, row["path"], row["value"])
    return value


@given(JSON, JSON)
def test_what_differs_turns_the_one_into_the_other(old, new):
    assert equal(_applied(old, compare(old, new)), new)


@given(JSON)
def test_a_value_does_not_differ_from_itself(value):
    assert compare(value, copy.deepcopy(value)).total == 0


@given(JSON, JSON)
def test_merging_twice_is_merging_once_and_leaves_no_null_behind(target, patch):
    merged = merge(target, patch)
    assert merge(merged, patch) == merged
    if isinstance(patch, dict):
        assert not [key for key, item in patch.items() if item is None and key in merged]


@given(st.text(max_size=40) | JSON.map(json.dumps))
def test_every_text_is_read_or_refused_with_a_type(text):
    try:
        value = parse(text)
    except ToolFailed as error:
        reported = error.message
    else:
        reported = "" if equal(value, json.loads(text)) else "read as something else"
    assert reported == "" or reported.startswith("JSON parse error: ")


async def test_differences_below_a_key_as_long_as_the_value_do_not_repeat_it_without_end():
    key = "k" * 100_000
    old, new = (json.dumps({key: [item] * 1000}) for item in (1, 2))
    result = await process(old, "diff", other=new)
    assert (result.data["total"], result.data["truncated"]) == (1000, True)
    assert len(result.data["changed"]) == 5
    assert len(result.text) < 1_000_000
