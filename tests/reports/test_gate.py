"""Commands that were reported with a wrong verdict, each with the right one.

The files hold one kind of fault each; further inputs of these kinds are families of
`tests/policy/risk/risk_families.jsonl`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.policy.risk.assess import assess_command
from app.policy.risk.report import report_json

_FILES = sorted((Path(__file__).parent / "data").glob("gate_*.jsonl"))
_ROWS: list[dict[str, Any]] = [
    json.loads(line) for file in _FILES for line in file.read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", _ROWS, ids=[row["id"] for row in _ROWS])
def test_a_reported_command_gets_its_verdict(row: dict[str, Any]) -> None:
    report = report_json(assess_command(row["command"]))

    assert (report["verdict"], report["findings"] if report["verdict"] != row["right"] else []) == (
        row["right"],
        [],
    )


def test_each_kind_has_rows_that_ask_and_rows_that_are_free() -> None:
    assert len(_FILES) == 9
    for file in _FILES:
        rows = [row for row in _ROWS if row["kind"] == file.stem]

        assert len(rows) >= 4
        assert {row["via"] for row in rows} == {"risk"}
