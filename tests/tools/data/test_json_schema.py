"""JSON Schema: every error with its place, and no schema that runs away or calls home."""

from __future__ import annotations

import json

import pytest

from app.toolkit.context import ToolContext
from app.tools.data.json_process import json_process
from app.tools.data.json_schema import MAX_ERRORS
from tests.tools.calls import call

CONTEXT = ToolContext(tool_call_id="call_1", operation_id="call_1")
D2020 = "https://json-schema.org/draft/2020-12/schema"
D3 = "http://json-schema.org/draft-03/schema#"
D7 = "http://json-schema.org/draft-07/schema#"


async def check(value, schema):
    return await call(
        json_process,
        CONTEXT,
        json_string=json.dumps(value),
        operation="schema_validate",
        other=schema if isinstance(schema, str) else json.dumps(schema),
    )


def found(result):
    return [(row["path"], row["keyword"]) for row in result.data["errors"]]


async def test_a_value_that_fits_is_valid():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/n"}}}
    result = await check({"a": 1}, {**schema, "$defs": {"n": {"type": "integer", "minimum": 1}}})
    assert (result.data["valid"], result.data["errors"], result.text) == (
        True,
        [],
        "The value is valid.",
    )


async def test_every_error_comes_with_its_place():
    schema = {
        "properties": {
            "age": {"type": "integer"},
            "mail": {"format": "email"},
            "tags": {"uniqueItems": True, "items": {"pattern": "^[a-z]+$"}},
            "kind": {"anyOf": [{"const": 1}, {"type": "string"}]},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    value = {"age": "x", "mail": "nobody", "tags": ["a", "B", "a"], "kind": None, "more/": 1}
    result = await check(value, schema)
    assert result.data["valid"] is False
    assert sorted(found(result)) == [
        ("", "required"),
        ("/age", "type"),
        ("/kind", "anyOf"),
        ("/mail", "format"),
        ("/more~1", "additionalProperties"),
        ("/tags", "uniqueItems"),
        ("/tags/1", "pattern"),
    ]
    reasons = [row["reasons"] for row in result.data["errors"] if "reasons" in row]
    assert reasons == [["/kind: 1 was expected", "/kind: None is not of type 'string'"]]


@pytest.mark.parametrize(
    ("value", "factor", "fits"),
    [
        *((4.35, 0.01, True), (0.3, 0.1, True), (0.35, 0.1, False), (12391239123, 1e-8, True)),
        *((10**900, 0.5, True), (10**900 + 1, 2.0, False), (1e308, 1e-300, True), (-7, 7, True)),
    ],
)
@pytest.mark.parametrize(("draft", "keyword"), [(D2020, "multipleOf"), (D3, "divisibleBy")])
async def test_a_multiple_is_one_by_its_digits(value, factor, fits, draft, keyword):
    result = await check(value, {"$schema": draft, keyword: factor})
    assert result.data["valid"] is fits


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2026-02-28T23:59:59.123456789Z", "2026-02-30T00:00:00Z"),
        ("date-time", "1990-12-31T23:59:60Z", "2026-01-01 00:00:00Z"),
        ("date-time", "2026-01-01t00:00:00+05:30", "2026-01-01T00:00:00"),
        ("date", "2026-02-28", "2026-2-28"),
        ("time", "10:00:00Z", "25:00:00Z"),
        ("duration", "P1DT2H", "PT"),
        ("email", "a@b", "ab"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("ipv6", "::1", ":::1"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("uri", "https://x.example/?a=%20", "//x.example/"),
        ("uri", "urn:a:b", "https://x/<y>"),
        ("uri-reference", "/a?b", "/a b"),
        ("hostname", "a-b.example", "-a.example"),
        ("json-pointer", "/a~1b", "/a~2"),
        ("regex", "^a+$", "(?=a)"),
    ],
)
async def test_formats_are_checked(name, good, bad):
    assert (await check(good, {"format": name})).data["valid"] is True
    assert found(await check(bad, {"format": name})) == [("", "format")]
    assert (await check(5, {"format": name})).data["valid"] is True


async def test_the_draft_is_the_one_the_schema_names():
    schema = {"items": [{"type": "string"}], "additionalItems": False}
    old = await check(["a", 1], {**schema, "$schema": D7})
    assert found(old) == [("", "additionalItems")]
    assert old.data["draft"] == D7
    new = await check(["a"], {"$schema": D2020, "prefixItems": [{"type": "integer"}]})
    assert found(new) == [("/0", "type")]
    beside = {"$schema": D7, "$ref": "#/definitions/s", "maxLength": 1}
    assert (await check("abc", {**beside, "definitions": {"s": {}}})).data["valid"] is True


async def test_of_many_errors_the_first_hundred_are_reported():
    result = await check(list(range(150)), {"items": {"type": "string"}})
    assert (len(result.data["errors"]), result.data["truncated"]) == (MAX_ERRORS, True)


async def test_equal_numbers_are_equal_items():
    assert found(await check([1, 1.0], {"uniqueItems": True})) == [("", "uniqueItems")]
    assert (await check([1, True, "1"], {"uniqueItems": True})).data["valid"] is True


async def test_what_no_other_keyword_has_looked_at_is_found_wherever_the_keyword_stands():
    schema = {"unevaluatedProperties": False, "properties": {"a": True}}
    assert found(await check({"a": 1, "b": 2}, schema)) == [("", "unevaluatedProperties")]


@pytest.mark.parametrize(
    "schema",
    [
        "[]",
        {"type": "nothing"},
        {"properties": {"a": {"minimum": "x"}}},
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json"},
        {"$ref": "#/$defs/none"},
        {"$ref": "#"},
        {"$schema": "https://example.org/mine"},
        {"$schema": 5},
        {"pattern": "(?=a)"},
        {"pattern": "(a"},
        {"patternProperties": {"(?!a)": {}}},
        {"patternProperties": {"a": {}}, "unevaluatedProperties": False},
        {"properties": {"a": {"$schema": D2020, "pattern": "^(a+)+$"}}},
        {"allOf": [{"$schema": D7}]},
        '{"allOf":[' * 25 + "{}" + "]}" * 25 + " " * 100_000,
    ],
)
async def test_a_schema_that_cannot_be_followed_is_a_typed_failure(schema):
    result = await check({"a": "b"} if "atternP" in str(schema) else "b", schema)
    assert (result.success, result.code) == (False, "bad_schema")


def _doubling(keyword: str) -> dict[str, object]:
    defs = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(40)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**defs, "d40": {"type": "string"}}}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1, _doubling("anyOf")),
        ("x", _doubling("allOf")),
        (1, _doubling("oneOf")),
        ("x" * 900_000, {"allOf": [{"pattern": "(a?){500}b"}] * 100}),
        (list(range(100_000)), {"anyOf": [{"type": "string"}] * 4000}),
        (list(range(100_000)), {"anyOf": [False] * 5000}),
        (list(range(100_000)), {"allOf": [{"if": False}] * 5000}),
        (list(range(20_000)), {"items": {"enum": [str(n) for n in range(10_000)]}}),
        (1, {"enum": [[n] for n in range(5000)]}),
        (
            {"a": {}},
            {
                "unevaluatedProperties": False,
                "dependentSchemas": {"a": {"$ref": "#/$defs/d0"}},
                "$defs": {
                    f"d{n}": {
                        "dependentSchemas": {"a": {"$ref": f"#/$defs/d{n + 1}"}},
                        "allOf": [{"$ref": f"#/$defs/d{n + 1}"}],
                    }
                    for n in range(40)
                }
                | {"d40": {}},
            },
        ),
    ],
)
async def test_a_schema_that_grows_at_every_step_is_stopped(
    monkeypatch: pytest.MonkeyPatch, value: object, schema: object
):
    if "$defs" in str(schema):  # which grows without end, so that the real bound is seconds away
        monkeypatch.setattr("app.tools.data.json_schema._MAX_STEPS", 20_000)
    result = await check(value, schema)
    assert (result.success, result.code) == (False, "schema_too_costly")


async def test_a_pattern_that_hangs_other_engines_is_quick():
    result = await check(
        {"a" * 5000 + "!": "a" * 5000 + "!"},
        {
            "patternProperties": {"^(a+)+$": False},
            "additionalProperties": {"pattern": "^(a|aa)+$"},
        },
    )
    assert found(result) == [("/" + "a" * 5000 + "!", "pattern")]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        # Each of them is read once for all objects, and has its price.
        (
            [{"x": 1}] * 50,
            {"items": {"patternProperties": {f"\\pL{{8}}{n}": True for n in range(200)}}},
        ),
        ({"ab" * 400_000: 1}, {"patternProperties": {"[ab]*a[ab]{900}c": True}}),
        ([f"\\pL{{9}}{number}" for number in range(200)], {"items": {"format": "regex"}}),
        (1, {"properties": {str(number): {} for number in range(6_000)}}),
        (1, {"properties": {str(number): True for number in range(6_000)}}),
        # Each branch would quote all of the value.
        ("\U000e0001" * 900_000, {"anyOf": [{"type": "integer"}] * 150}),
    ],
    ids=["many patterns", "wide pattern", "regexes", "parts", "flags", "quotes"],
)
async def test_a_schema_that_costs_too_much_is_refused(value, schema):
    text = json.dumps(value, ensure_ascii=False)
    result = await call(
        json_process,
        CONTEXT,
        json_string=text,
        operation="schema_validate",
        other=json.dumps(schema),
    )
    assert result.code == "schema_too_costly"


async def test_the_way_to_an_error_is_cut_where_a_key_is_a_text_of_its_own():
    result = await check({"k" * 50_000: ["x"]}, {"additionalProperties": {"items": False}})
    [error] = result.data["errors"]
    assert len(error["path"]) <= 10_000
    assert error["path"].startswith("/kkk")


async def test_messages_are_cut_although_they_quote_the_value():
    result = await check({"a": "x" * 5_000}, {"properties": {"a": {"anyOf": [{"type": "null"}]}}})
    [error] = result.data["errors"]
    assert len(error["message"]) <= 300
    assert all(len(reason) <= 310 for reason in error["reasons"])
