"""`text_process`: every operation as it should go, and what it refuses."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import ManualClock
from app.core.errors import InvalidArguments
from app.toolkit.context import ToolContext
from app.toolkit.services import Services
from app.tools.data.services import CLOCK
from app.tools.data.text_operations import SIMPLE, graphemes, replace, sort_lines
from app.tools.data.text_process import text_process
from tests.tools.calls import call

# Time stands for how much a search has cost, so it passes only where a test says so.
CONTEXT = ToolContext(
    tool_call_id="call_1", operation_id="call_1", services=Services(**{CLOCK: ManualClock()})
)
ACUTE = "e\u0301"
FLAG = "\U0001f1e9\U0001f1ea"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


class Hurried(ManualClock):
    """A clock on which a minute passes whenever somebody looks."""

    def monotonic(self) -> float:
        self.advance(60)
        return super().monotonic()


async def process(text: str, operation: str, **arguments):
    return await call(text_process, CONTEXT, text=text, operation=operation, **arguments)


@pytest.mark.requirement("DAT-02")
@pytest.mark.parametrize(
    ("operation", "text", "data"),
    [
        ("count", "日本語 text", {"count": 8}),
        ("count", "", {"count": 0}),
        ("lines", "a\nb\r\nc", {"lines": 3}),
        ("words", " one  two\tthree\n", {"words": 3}),
        ("upper", "straße", {"result": "STRASSE"}),
        ("lower", "ÄB", {"result": "äb"}),
        ("reverse", "abc日", {"result": "日cba"}),
    ],
)
async def test_the_operations_of_the_seeds_have_their_keys(operation, text, data):
    assert (await process(text, operation)).data == data


@pytest.mark.requirement("DAT-02")
async def test_an_unknown_operation_is_refused_with_those_there_are():
    with pytest.raises(InvalidArguments, match=r"'count'.*'url_decode'"):
        await process("x", "explode")


@pytest.mark.parametrize(
    ("text", "reversed_text"),
    [
        (f"a{ACUTE}b", f"b{ACUTE}a"),
        (f"1{FLAG}2", f"2{FLAG}1"),
        (f"{FLAG}{FLAG}x", f"x{FLAG}{FLAG}"),
        (f"a{FAMILY}b", f"b{FAMILY}a"),
        ("a\r\nb", "b\r\na"),
        ("ok👍🏽!", "!👍🏽ko"),
        ("각x", "x각"),
        ("क्षि!", "!क्षि"),
    ],
)
async def test_reversing_leaves_whole_what_people_see_as_one_character(text, reversed_text):
    assert (await process(text, "reverse")).data == {"result": reversed_text}


@pytest.mark.parametrize(
    ("arguments", "data"),
    [
        ({"operation": "trim", "text": " \t x y \n"}, {"result": "x y"}),
        (
            {"operation": "dedupe_lines", "text": "b\na\nb\nB\n"},
            {"result": "b\na\nB\n", "removed": 1},
        ),
        (
            {"operation": "dedupe_lines", "text": "b\r\nB\r\na", "ignore_case": True},
            {"result": "b\r\na", "removed": 1},
        ),
        ({"operation": "sort_lines", "text": "b\nC\na\n"}, {"result": "C\na\nb\n"}),
        (
            {"operation": "sort_lines", "text": "b\nC\na", "ignore_case": True, "descending": True},
            {"result": "C\nb\na"},
        ),
        (
            {"operation": "replace", "text": "a.b.c", "pattern": ".", "replacement": "\\1"},
            {"result": "a\\1b\\1c", "replaced": 2},
        ),
        (
            {"operation": "slug", "text": " Ünïted: Colours & 北京! "},
            {"result": "united-colours-北京"},
        ),
        (
            {"operation": "truncate", "text": f"a{ACUTE}{FLAG}bc", "limit": 4},
            {"result": f"a{ACUTE}{FLAG}…", "truncated": True},
        ),
        (
            {"operation": "truncate", "text": "abc", "limit": 3},
            {"result": "abc", "truncated": False},
        ),
        (
            {"operation": "hash", "text": "abc"},
            {
                "result": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                "algorithm": "sha256",
            },
        ),
        ({"operation": "base64_encode", "text": "é"}, {"result": "w6k="}),
        ({"operation": "base64_decode", "text": "w6\nk"}, {"result": "é"}),
        ({"operation": "base64_decode", "text": "Pz8_"}, {"result": "???"}),
        ({"operation": "url_encode", "text": "a b/é"}, {"result": "a%20b%2F%C3%A9"}),
        ({"operation": "url_decode", "text": "a%20b+%C3%A9"}, {"result": "a b+é"}),
    ],
)
async def test_each_further_operation_does_what_it_says(arguments, data):
    assert (await call(text_process, CONTEXT, **arguments)).data == data


async def test_matches_come_with_their_places_and_groups():
    result = await process("日1 b22", "regex_extract", pattern=r"(?P<letter>\pL)(\d)(\d)?", limit=1)
    match = {
        "text": "日1",
        "start": 0,
        "end": 2,
        "groups": ["日", "1", None],
        "named": {"letter": "日"},
    }
    assert result.data == {"matches": [match], "total": 1, "truncated": True}


async def test_a_replacement_may_hold_groups():
    result = await process(
        "ann=1, bob=2",
        "regex_replace",
        pattern=r"(?P<key>[A-Z]+)=(\d)",
        replacement=r"\2\\\g<key>\n",
        ignore_case=True,
    )
    assert result.data == {"result": "1\\ann\n, 2\\bob\n", "replaced": 2}


async def test_a_difference_is_a_unified_diff():
    result = await process("a\nb\n", "diff", other="a\nc\n")
    assert "-b\n+c" in result.data["result"]
    assert {key: result.data[key] for key in ("equal", "added", "removed")} == {
        "equal": False,
        "added": 1,
        "removed": 1,
    }
    same = await process("a", "diff", other="a")
    assert (same.data["equal"], same.text) == (True, "The texts are equal.")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"operation": "regex_extract", "text": "a", "pattern": "("}, "bad_pattern"),
        ({"operation": "regex_extract", "text": "a", "pattern": "(?=a)"}, "bad_pattern"),
        ({"operation": "regex_extract", "text": "aa", "pattern": r"(a)\1"}, "bad_pattern"),
        (
            {"operation": "regex_replace", "text": "a", "pattern": "a", "replacement": r"\1"},
            "bad_replacement",
        ),
        (
            {"operation": "regex_replace", "text": "a", "pattern": "b", "replacement": r"\g<x>"},
            "bad_replacement",
        ),
        ({"operation": "base64_decode", "text": "a!b"}, "not_base64"),
        ({"operation": "base64_decode", "text": "/w=="}, "not_text"),
        ({"operation": "url_decode", "text": "%ff"}, "not_text"),
        (
            {"operation": "replace", "text": "a" * 5000, "pattern": "a", "replacement": "b" * 5000},
            "result_too_large",
        ),
        (
            {
                "operation": "regex_replace",
                "text": "a" * 5000,
                "pattern": "a",
                "replacement": "b" * 5000,
            },
            "result_too_large",
        ),
        (
            {"operation": "regex_extract", "text": "a" * 900_000, "pattern": "((a*))"},
            "result_too_large",
        ),
        (
            {"operation": "regex_extract", "text": "a" * 900_000, "pattern": "(?:a?){900}b"},
            "pattern_too_costly",
        ),
        ({"operation": "url_encode", "text": "日" * 300_000}, "result_too_large"),
    ],
)
async def test_what_cannot_be_done_is_a_typed_failure(arguments, code):
    result = await call(text_process, CONTEXT, **arguments)
    assert (result.success, result.code) == (False, code)


async def test_a_search_that_starts_over_at_every_character_comes_to_an_end():
    services = Services(**{CLOCK: Hurried()})
    context = ToolContext(tool_call_id="call_1", operation_id="call_1", services=services)
    result = await call(
        text_process, context, text="xxxx", operation="regex_replace", pattern="x.*y|x"
    )
    assert result.code == "pattern_too_costly"


@pytest.mark.parametrize("operation", ["replace", "regex_extract", "truncate", "diff"])
async def test_an_operation_without_what_it_needs_is_refused(operation):
    with pytest.raises(InvalidArguments, match=f"operation {operation} requires"):
        await process("x", operation)


async def test_a_text_beyond_the_limit_is_refused():
    with pytest.raises(InvalidArguments, match="text"):
        await process("x" * 1_000_001, "count")


@given(st.text())
def test_characters_as_people_see_them_are_the_text(text):
    assert "".join(graphemes(text)) == text


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"])))
def test_what_is_encoded_is_decoded_again(text):
    for name in ("base64", "url"):
        encoded = SIMPLE[f"{name}_encode"](text)["result"]
        assert SIMPLE[f"{name}_decode"](encoded) == {"result": text}
    assert base64.b64decode(SIMPLE["base64_encode"](text)["result"]).decode() == text


@given(st.text(alphabet="ab", max_size=30), st.text(alphabet="ab", min_size=1, max_size=3))
def test_replacing_is_what_python_does(text, pattern):
    assert replace(text, pattern, "-")["result"] == text.replace(pattern, "-")


@given(st.lists(st.text(alphabet="abB é", max_size=4), min_size=1, max_size=8))
def test_sorting_loses_no_line(lines):
    text = "\n".join(lines) + "\n"
    made = sort_lines(text, ignore_case=False, descending=False)
    assert made == {"result": "\n".join(sorted(lines)) + "\n"}


@pytest.mark.parametrize("text", ["\ufdfa" * 20_000, "a" + "\u0315\u0316" * 20_000])
async def test_a_slug_of_letters_that_grow_or_pile_up_is_refused(text: str):
    assert (await process(text, "slug")).code == "result_too_large"


async def test_so_many_matches_that_their_places_fill_the_result_are_too_much():
    result = await process("a" * 200_000, "regex_extract", pattern="()", limit=200_000)
    assert result.code == "result_too_large"
