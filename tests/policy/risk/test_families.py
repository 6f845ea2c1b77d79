"""Every bypass family and every kind of daily noise, in spellings of our own.

Each line of the data file holds `family`, `command`, `expect` and, for Windows, `shell`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.policy.risk.assess import assess_command
from app.policy.risk.report import report_json

_FILE = Path(__file__).with_name("risk_families.jsonl")
_CASES: list[dict[str, Any]] = [
    json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()
]
_FAMILIES = sorted({case["family"] for case in _CASES})


@pytest.mark.requirement("F-10", "CNF-01")
@pytest.mark.parametrize("family", _FAMILIES)
def test_each_command_of_a_family_gets_its_verdict(family: str) -> None:
    wrong = []
    for case in _CASES:
        if case["family"] == family:
            report = assess_command(case["command"], shell=case.get("shell", "bash"))
            got = report_json(report)["verdict"]
            if got != case["expect"]:
                wrong.append((case["expect"], got, case["command"], report.findings))

    assert wrong == []


def test_the_file_weighs_safe_ask_and_deny() -> None:
    counted = Counter(case["expect"] for case in _CASES)

    assert min(counted["safe"], counted["ask"]) >= 400
    assert counted["deny"] >= 100
