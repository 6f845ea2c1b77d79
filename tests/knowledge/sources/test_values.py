"""Values of databases as JSON."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from app.knowledge.sources.drivers.protocol import Rows, StatementLimits
from app.knowledge.sources.drivers.values import MAX_CELL_CHARS, Collector, as_json, unique_names


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (2**53, 2**53),
        (2**53 + 1, "9007199254740993"),
        (-(2**60), "-1152921504606846976"),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (Decimal("20.50"), "20.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), "NaN"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (time(3, 4, 5), "03:04:05"),
        (timedelta(hours=30, seconds=2), "PT30H0M2S"),
        (-timedelta(minutes=90), "-PT1H30M0S"),
        (b"\x00\xff\x10", "base64:AP8Q"),
        (memoryview(b""), "base64:"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"a": [Decimal("1.0"), b"x"], 2: None}, {"a": ["1.0", "base64:eA=="], "2": None}),
        ({"x"}, ["x"]),
        ("lone \ud800", "lone ?"),
    ],
)
def test_a_value_is_reported_without_losing_anything(value: Any, reported: Any):
    assert as_json(value) == reported


def test_what_is_too_long_is_cut_with_a_mark():
    text = as_json("x" * 50_000)
    assert text == "x" * MAX_CELL_CHARS + "… (cut: 50000 characters)"
    assert as_json(b"x" * 50_000).endswith("… (cut: 50000 bytes)")


def test_what_is_too_deep_ends_in_text():
    value: Any = "end"
    for _ in range(200):
        value = [value]
    assert "end" in str(as_json(value))


def test_columns_of_one_name_are_distinguished():
    assert unique_names(["id", "id", "id_2", "id"]) == ("id", "id_2", "id_2_2", "id_3")


def test_rows_are_taken_up_to_the_limit_of_rows():
    collector = Collector(["n"], StatementLimits(2, 1000, 1))
    assert [collector.add([n]) for n in range(4)] == [True, True, False, False]
    assert collector.rows() == Rows(("n",), [[0], [1]], truncated=True)


def test_rows_are_taken_up_to_the_limit_of_bytes_and_a_later_small_one_is_not_slipped_in():
    collector = Collector(["text"], StatementLimits(100, 50, 1))
    assert [collector.add([text]) for text in ("a" * 30, "b" * 30, "c")] == [True, False, False]
    assert collector.rows() == Rows(("text",), [["a" * 30]], truncated=True)


async def test_rows_are_taken_until_one_does_not_fit():
    collector = Collector(["a"], StatementLimits(2, 1_000, 1))
    assert await collector.take([["x"], ["y"], ["z"]]) == 2
    assert collector.rows().rows == [["x"], ["y"]]
    assert collector.is_full
