"""The labelled corpus: every case that is not marked as a stretch gets an accepted verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.policy.risk.assess import assess_command
from app.policy.risk.model import ShellName

_FILE = Path(__file__).with_name("risk_cases_public.jsonl")
_CASES: list[dict[str, Any]] = [
    json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()
]
_NAMES = {"allow": "safe", "ask": "ask", "deny": "deny"}
_WINDOWS: tuple[ShellName, ...] = ("powershell", "cmd")
_RUNS = [
    pytest.param(case, shell, id=f"{case['id']}-{shell}")
    for case in _CASES
    for shell in (_WINDOWS if case.get("shell") == "windows" else ("bash",))
]


@pytest.mark.requirement("F-10", "B-24", "CNF-01", "CNF-06")
@pytest.mark.parametrize(("case", "shell"), _RUNS)
def test_a_labelled_command_gets_an_accepted_verdict(
    case: dict[str, Any], shell: ShellName
) -> None:
    report = assess_command(case["command"], shell=shell)

    got = _NAMES[report.verdict]
    accepted = case.get("accept", [case["expect"]])
    assert got in accepted, (case["why"], report.findings)


def test_the_corpus_is_whole() -> None:
    assert len(_CASES) == 385
    assert len({case["id"] for case in _CASES}) == 385
