"""The rows of `data/`, as parameters named by their ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
Row = dict[str, Any]


def samples(kind: str) -> list[Any]:
    """The rows of one kind."""
    lines = (DATA / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line]
    return [pytest.param(row, id=row["id"]) for row in found]
