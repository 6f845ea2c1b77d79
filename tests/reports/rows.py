"""Rows of `data/`, and the way that each goes: one call of a tool on one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab

DATA = Path(__file__).parent / "data"
Row = dict[str, Any]


def rows(pattern: str) -> list[Any]:
    """The rows of the files that match, as parameters named by their id."""
    found = [
        json.loads(line)
        for path in sorted(DATA.glob(pattern))
        for line in path.read_text("utf-8").splitlines()
    ]
    assert found, f"no rows in {pattern}"
    return [pytest.param(row, id=row["id"]) for row in found]


class Given:
    """A file as a row describes it, and a call on it."""

    def __init__(self, house: Lab, row: Row) -> None:
        self.house = house
        self.row = row
        root = Path(house.runtime.projects.get("default").root)
        self.path: Path = root / row["file"]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.before: bytes = bytes.fromhex(row["before"])
        self.path.write_bytes(self.before)

    @property
    def after(self) -> bytes:
        return self.path.read_bytes()

    async def call(self) -> CallOutcome:
        """The call; before it the file is read where the row says so."""
        if self.row.get("read_first"):
            await self.house.call("read_file", "read", path=self.row["file"])
        return await self.house.call(self.row["tool"], **self.row["args"])


def shown(outcome: CallOutcome) -> str:
    """Everything that the answer shows."""
    result = outcome.result
    return "\n".join([result.text or "", json.dumps(result.data, ensure_ascii=False)])
