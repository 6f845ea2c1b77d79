"""JSON rows ↔ CSV."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.toolkit.context import ToolContext
from app.tools.data.json_csv import from_csv, to_csv
from app.tools.data.json_process import json_process
from tests.tools.calls import call

CONTEXT = ToolContext(tool_call_id="call_1", operation_id="call_1")
CELL = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)


async def convert(text: str, operation: str, **arguments):
    return await call(json_process, CONTEXT, json_string=text, operation=operation, **arguments)


async def test_rows_become_lines_with_a_header_of_all_keys():
    rows = [{"a": 1, "b": 'x "y", z'}, {"c": None, "a": True}, {"a": {"n": [1]}, "b": "l1\nl2"}]
    result = await convert(json.dumps(rows), "to_csv")
    assert result.data == {
        "result": 'a,b,c\r\n1,"x ""y"", z",\r\ntrue,,\r\n"{""n"":[1]}","l1\nl2",\r\n',
        "rows": 3,
        "columns": ["a", "b", "c"],
        "formula_cells": 0,
    }


async def test_lines_become_rows():
    result = await convert('\ufeffa;b\r\n1;"x;\ny"\r\n\r\n2;é\r\n', "from_csv", delimiter=";")
    assert result.data == {
        "data": [{"a": "1", "b": "x;\ny"}, {"a": "2", "b": "é"}],
        "rows": 2,
        "columns": ["a", "b"],
    }


async def test_one_object_is_one_row_and_no_rows_are_no_text():
    assert (await convert('{"a": 1}', "to_csv")).data["result"] == "a\r\n1\r\n"
    assert (await convert("[]", "to_csv")).data["result"] == ""


async def test_cells_that_a_spreadsheet_would_run_are_counted_and_made_text_on_demand():
    rows = json.dumps([{"=1+1": '=HYPERLINK("http://x")', "n": -5, "m": "-5", "at": "@SUM(A1)"}])
    plain = await convert(rows, "to_csv")
    assert plain.data["formula_cells"] == 3
    assert "3 cells would run as formulas" in plain.text
    guarded = await convert(rows, "to_csv", guard_formulas=True)
    cells = list(csv.reader(io.StringIO(guarded.data["result"])))
    assert cells == [
        ["'=1+1", "n", "m", "at"],
        ['\'=HYPERLINK("http://x")', "-5", "-5", "'@SUM(A1)"],
    ]


@pytest.mark.parametrize(
    "cell",
    ["=1", "+1+1", "-1+1", "@A1", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff0b1+1", "\uff20A1"],
)
async def test_whatever_a_spreadsheet_takes_for_a_formula_is_made_text(cell: str):
    guarded = await convert(json.dumps([{"a": cell}]), "to_csv", guard_formulas=True)
    assert guarded.data["formula_cells"] == 1
    assert list(csv.reader(io.StringIO(guarded.data["result"], newline=""))) == [
        ["a"],
        [f"'{cell}"],
    ]


@pytest.mark.parametrize(
    ("text", "operation", "code"),
    [
        ("[1, 2]", "to_csv", "not_rows"),
        ('"x"', "to_csv", "not_rows"),
        ("not json", "to_csv", "json_parse_error"),
        (json.dumps([{f"k{n}": 1} for n in range(1001)]), "to_csv", "result_too_large"),
        ("", "from_csv", "csv_error"),
        ("a,a\n1,2\n", "from_csv", "csv_error"),
        ("a,b\n1\n", "from_csv", "csv_error"),
        ("a,b\n1,2,3\n", "from_csv", "csv_error"),
        ('a\n"open', "from_csv", "csv_error"),
        ('a\n"x"y\n', "from_csv", "csv_error"),
        (",".join(map(str, range(1001))), "from_csv", "csv_error"),
    ],
)
async def test_what_is_no_table_is_a_typed_failure(text, operation, code):
    result = await convert(text, operation)
    assert (result.success, result.code) == (False, code)


@given(
    st.lists(CELL, min_size=1, max_size=4, unique=True).flatmap(
        lambda header: st.lists(
            st.fixed_dictionaries(dict.fromkeys(header, CELL)), min_size=1, max_size=4
        )
    ),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_a_table_of_texts_comes_back_as_it_went(rows, delimiter):
    written = to_csv(rows, delimiter=delimiter, guard_formulas=False)["result"]
    # A reader takes a mark at the start of a file for the sign of its encoding.
    if not written.startswith("\ufeff"):
        assert from_csv(written, delimiter=delimiter)["data"] == rows


async def test_long_names_of_columns_in_many_rows_are_too_much():
    """As JSON every row names them again: a megabyte would become two hundred."""
    header = ",".join(f"c{number}".ljust(400, "x") for number in range(999))
    result = await convert(f"{header}\n" + ("," * 998 + "\n") * 400, "from_csv")
    assert result.code == "result_too_large"
