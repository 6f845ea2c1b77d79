"""Arguments as models write them: whole numbers with a point, nothing for a default, text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.entries import ENTRIES, Site, after_equal_call, audit, open_site
from tests.execution.lab import Lab
from tests.reports.rows import Given, Row, rows, shown
from tests.support.brisk import brisk_services
from tests.support.service import settings_for

DOORS = [enter for enter in ENTRIES if enter is not after_equal_call]
WRITTEN: dict[str, dict[str, Any]] = {
    "read_file": {"paths": '["n.txt"]', "limit": 5.0, "encoding": None, "show_line_numbers": None},
    "todo": {"todos": '[{"id": "1", "content": "x", "status": "pending", "parent": null}]'},
}


@pytest.mark.parametrize("row", rows("args_*.jsonl"))
async def test_what_says_the_same_is_taken_for_it(house: Lab, row: Row):
    given = Given(house, row)
    outcome = await given.call()
    assert outcome.success is row["right"]["success"], outcome.text
    assert row["right"]["contains"] in shown(outcome)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    with brisk_services():
        async with open_site(settings_for(tmp_path, anthropic_api_key=None)) as opened:
            yield opened


async def test_every_door_takes_it(site: Site):
    ran: dict[str, set[str]] = {}
    for enter in DOORS:
        site.witness.ran.clear()
        for name, arguments in WRITTEN.items():
            await enter(site, name, arguments)
        ran[enter.__name__] = {seen.tool_name for seen in site.witness.ran}
    assert ran == {enter.__name__: set(WRITTEN) for enter in DOORS}
    outcomes = {outcome for *_, outcome in (await audit(site.runtime, "call.finished")).values()}
    assert outcomes <= {"success", "skipped"}
