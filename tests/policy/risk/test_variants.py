"""Other spellings of each family of the public corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.policy.risk.assess import assess_command

_FILE = Path(__file__).with_name("risk_variants.jsonl")
_CASES = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
_NAMES = {"allow": "safe", "ask": "ask", "deny": "deny"}


@pytest.mark.requirement("F-10")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["command"][:60])
def test_a_variant_gets_the_verdict_of_its_family(case: dict[str, str]) -> None:
    report = assess_command(case["command"])

    assert _NAMES[report.verdict] == case["expect"], report.findings
