"""Searches over other line ends, patches as models wrap them."""

from __future__ import annotations

from typing import Any

import pytest

from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab
from tests.reports.rows import Given, Row, rows, shown


@pytest.mark.parametrize("row", rows("grep_line_end*.jsonl"))
async def test_the_end_of_a_line_is_found_whatever_ends_it(house: Lab, row: Row):
    outcome = await Given(house, row).call()
    _check(outcome, row["right"])


@pytest.mark.parametrize("row", rows("patch_*.jsonl"))
async def test_a_patch_is_read_through_its_wrapping_and_put_where_it_belongs(house: Lab, row: Row):
    given = Given(house, row)
    outcome = await given.call()
    right = row["right"]
    assert outcome.success is right["success"], outcome.text
    assert given.after == bytes.fromhex(right["after"])


def _check(outcome: CallOutcome, right: dict[str, Any]) -> None:
    text = shown(outcome)
    assert outcome.success is right["success"], text
    assert right["contains"] in text
    if "not_contains" in right:
        assert right["not_contains"] not in text
