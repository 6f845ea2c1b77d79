"""Durations and skips of a test run: a table at its end, and a later report.

`make test-report` prints the seconds per directory and the slowest tests of the last run.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from scripts.parts import PARTS
from tests.support.binaries import NEEDS
from tests.support.source import ROOT

KEPT = ROOT / ".pytest_cache" / "tollgate-last-run.json"
SLOWEST = 50


class LastRun:
    """Plugin of the main process, which hears of every test in any process."""

    def __init__(self, place: Path = KEPT) -> None:
        self._place = place
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._skipped: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason.startswith(NEEDS):
                self._skipped[reason.removeprefix(NEEDS)] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._skipped:
            terminalreporter.section("skipped, for want of a part of the machine")
            terminalreporter.write_line(skip_table(self._skipped))

    def pytest_sessionfinish(self) -> None:
        # Without write permission there is no report, and the run is normal.
        with suppress(OSError):
            self._place.parent.mkdir(exist_ok=True)
            self._place.write_text(json.dumps(self._seconds), encoding="utf-8")


def skip_table(skipped: Mapping[str, int]) -> str:
    """Return one line per missing part: the number of its tests, and how to install it."""
    provided = {part.name: part.provide for part in PARTS}
    rows = [
        (name, str(count), provided.get(name, f"install {name}"))
        for name, count in sorted(skipped.items())
    ]
    return _table([("part", "tests", "provided by"), *rows])


def report(seconds: Mapping[str, float]) -> str:
    """Return seconds and tests per directory, then the slowest tests."""
    spent: defaultdict[str, float] = defaultdict(float)
    tests: Counter[str] = Counter()
    for name, took in seconds.items():
        folder = "/".join(name.partition("::")[0].split("/")[:2])
        spent[folder] += took
        tests[folder] += 1
    folders = [(f"{took:.1f}", str(tests[folder]), folder) for folder, took in _most(spent)]
    total = (f"{sum(spent.values()):.1f}", str(len(seconds)), "all")
    slowest = [(f"{took:.2f}", name) for name, took in _most(seconds)[:SLOWEST]]
    return "\n\n".join(
        (
            _table([("seconds", "tests", "directory"), *folders, total]),
            _table([("seconds", f"the {len(slowest)} slowest tests"), *slowest]),
        )
    )


def _most(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda item: -item[1])


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in listed
    )


def main() -> int:
    """Print the report of the last run; return the exit code, 1 without one."""
    try:
        seconds = json.loads(KEPT.read_text(encoding="utf-8"))
    except FileNotFoundError:
        print("No run is recorded here: run `make test` first.", file=sys.stderr)
        return 1
    print(report(seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
