"""Evaluation of labelled commands by the gate: misses, and false alarms.

    python -m scripts.judgement tests/policy/risk/risk_manuals.jsonl [--wrong]

Each line contains `command`, `expect` (safe, ask or deny), `family`, and for Windows `shell`; `set`
divides a file into separately counted parts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.policy.risk.assess import assess_command

_NAMES = {"allow": "safe", "ask": "ask", "deny": "deny"}


@dataclass
class Figures:
    """Counts over labelled commands.

    Attributes:
        missed: risky commands that would run without a question.
        alarms: harmless commands that ask or are refused.
        denied: commands refused wrongly.
        wrong: each of them, with its verdict.
    """

    risky: int = 0
    safe: int = 0
    missed: int = 0
    alarms: int = 0
    denied: int = 0
    wrong: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def count(self, case: dict[str, Any]) -> None:
        shell = case.get("shell", "bash")
        verdict = _NAMES[assess_command(case["command"], shell=shell).verdict]
        risky = case["expect"] != "safe"
        self.risky += risky
        self.safe += not risky
        missed, alarm = risky and verdict == "safe", not risky and verdict != "safe"
        denied = verdict == "deny" and case["expect"] != "deny"
        self.missed += missed
        self.alarms += alarm
        self.denied += denied
        if missed or alarm or denied:
            self.wrong.append((verdict, case))

    @property
    def missed_share(self) -> float:
        return self.missed / max(1, self.risky)

    @property
    def alarm_share(self) -> float:
        return self.alarms / max(1, self.safe)

    def __str__(self) -> str:
        return (
            f"missed {self.missed} of {self.risky} risky ({self.missed_share:.1%}), "
            f"false alarms {self.alarms} of {self.safe} ({self.alarm_share:.1%}), "
            f"false denies {self.denied}"
        )


def cases(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the labelled commands of a file."""
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def figures(labelled: Iterable[dict[str, Any]], key: str) -> dict[str, Figures]:
    """Return the figures of each value of `key` in the cases."""
    found: dict[str, Figures] = {}
    for case in labelled:
        found.setdefault(case.get(key, ""), Figures()).count(case)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--wrong", action="store_true", help="list what is judged wrongly")
    given = parser.parse_args()
    labelled = list(cases(given.file))
    by_family = figures(labelled, "family")
    for family, counted in sorted(by_family.items()):
        print(f"{family}: {counted}")
    for part, counted in sorted(figures(labelled, "set").items()):
        print(f"set {part}: {counted}" if part else str(counted))
    if given.wrong:
        for counted in by_family.values():
            for verdict, case in counted.wrong:
                print(f"{case['expect']} judged {verdict}: {case['command']!r}")


if __name__ == "__main__":
    main()
