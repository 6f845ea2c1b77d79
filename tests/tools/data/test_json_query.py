"""JMESPath: what it finds, and that no expression runs away."""

from __future__ import annotations

import json

import pytest

from app.toolkit.context import ToolContext
from app.tools.data.json_process import json_process
from tests.tools.calls import call

CONTEXT = ToolContext(tool_call_id="call_1", operation_id="call_1")
PEOPLE = json.dumps(
    {"people": [{"name": "Ann", "age": 31}, {"name": "Bob", "age": 25, "tags": ["x", "y"]}]}
)


async def query(json_string: str, expression: str):
    return await call(
        json_process, CONTEXT, json_string=json_string, operation="query", query=expression
    )


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("people[*].name", ["Ann", "Bob"]),
        ("people[?age > `30`].name | [0]", "Ann"),
        ("people[?name == 'Bob'].tags[]", ["x", "y"]),
        ("sort_by(people, &age)[*].{n: name, old: age > `30`}[0]", {"n": "Bob", "old": False}),
        ("length(people)", 2),
        ("join(', ', people[*].name)", "Ann, Bob"),
        ("sum(people[*].age)", 56),
        ("people[0:1].name", ["Ann"]),
        ("missing.path", None),
        ("*[0].name", ["Ann"]),
        ("people[?contains(name, 'n') && age != `25`] | length(@)", 1),
    ],
)
async def test_an_expression_finds_what_it_names(expression, found):
    assert (await query(PEOPLE, expression)).data == {"data": found}


@pytest.mark.parametrize(
    "expression",
    [
        "people[",
        "unknown(@)",
        "length(`1`)",
        "sort(people)",
        "abs('x')",
        "join(`1`, people)",
        "max_by(people, &tags)",
        "((((" * 100,
        "!" * 900 + "@",
        *(
            "&@",
            "[&people]",
            "{a: &@}",
            "people | &@",
            "to_string(&@)",
            "type(&@)",
            "sort_by(&@, @)",
        ),
        *("not_null(&@)", "people[?&name]", "map(&[&name], people)", "people[*].[&age]"),
    ],
)
async def test_an_expression_that_cannot_be_carried_out_is_a_typed_failure(expression):
    result = await query(PEOPLE, expression)
    assert (result.success, result.code) == (False, "bad_expression")
    assert result.error.startswith("JMESPath error: ")


@pytest.mark.parametrize(
    "expression",
    [
        " | ".join(["[@,@]"] * 50),
        " | ".join(["[@,@][]"] * 100),
        " | ".join(["{a:@,b:@}"] * 50),
        " | ".join(["join('', [@,@])"] * 50),
        " | ".join(["map(&[@,@,@,@,@,@], @)[]"] * 30),
        "[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]|[@,@,@]"
        "|[@,@,@]|[@,@,@]|to_string(@)|length(@)",
        "[*].[@,@,@,@,@,@,@,@,@,@][].[@,@,@,@,@,@,@,@,@,@][].[@,@,@,@,@,@,@,@,@,@][]"
        ".[@,@,@,@,@,@,@,@,@,@][].[@,@,@,@,@,@,@,@,@,@][]",
    ],
)
async def test_an_expression_that_grows_at_every_step_is_stopped(
    monkeypatch: pytest.MonkeyPatch, expression: str
):
    monkeypatch.setattr("app.tools.data.json_query._MAX_WORK", 60_000)  # each grows without end
    value = '"xx"' if "join" in expression else json.dumps([1] * 20)
    result = await query(value, expression)
    assert (result.success, result.code) == (False, "query_too_costly")


async def test_a_long_text_between_many_is_stopped():
    value = json.dumps({"long": "x" * 400_000, "many": ["a"] * 100_000})
    result = await query(value, "join(long, many)")
    assert result.code == "query_too_costly"


async def test_a_result_deeper_than_results_may_be_is_refused():
    result = await query("1", " | ".join(["[@]"] * 70))
    assert result.code == "query_too_costly"


@pytest.mark.parametrize(
    "value", ['{"' + "k" * 100_000 + '": 1}', "9" * 1000], ids=["long key", "long number"]
)
async def test_what_is_doubled_at_every_step_counts_by_its_text(value):
    result = await query(value, "|".join(["[@, @]"] * 14))
    assert result.code == "query_too_costly"


@pytest.mark.parametrize(
    ("value", "expression"),
    [
        ('"nan"', "to_number(@)"),
        ('"-inf"', "[to_number(@)]"),
        ("[1e308, 1e308]", "{total: sum(@)}"),
    ],
)
async def test_a_number_that_json_does_not_have_is_a_failure(value, expression):
    result = await query(value, expression)
    assert result.code == "bad_expression"
