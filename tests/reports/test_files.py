"""Patches as models wrap them, and places that a patch leaves open."""

from __future__ import annotations

import pytest

from tests.execution.lab import Lab
from tests.reports.rows import Given, Row, rows


@pytest.mark.parametrize("row", rows("patch_*.jsonl"))
async def test_a_patch_is_read_through_its_wrapping_and_put_where_it_belongs(house: Lab, row: Row):
    given = Given(house, row)
    outcome = await given.call()
    right = row["right"]
    assert outcome.success is right["success"], outcome.text
    assert given.after == bytes.fromhex(right["after"])
