"""The page on protected paths lists every row of the table, as the code has it."""

from __future__ import annotations

from app.core.protected_paths import PROTECTED_PATHS
from tests.support.source import ROOT


def test_the_page_has_the_table():
    page = (ROOT / "docs/protected-paths.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]

    assert rows == [
        f"| {' '.join(f'`{pattern}`' for pattern in row.patterns)} | {row.run_by} | {row.when}"
        f" | {row.treatment} | {row.by_program} |"
        for row in PROTECTED_PATHS
    ]
