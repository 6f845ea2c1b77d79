"""The verdict tables in `cases/`: one JSON object a line.

`{"sql", "refused": code}` for a statement that must not run, `{"sql", "runs": text}` for one that
may, with the exact text that is executed when an agent may see `LIMIT` rows.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from app.knowledge.sources.guard.model import Dialect

LIMIT = 100


@dataclass(frozen=True)
class Verdict:
    """One line of a table; exactly one of `refused` and `runs` is set."""

    dialect: Dialect
    sql: str
    refused: str | None = None
    runs: str | None = None


def verdicts() -> list[Verdict]:
    folder = Path(__file__).parent / "cases"
    return [
        Verdict(cast("Dialect", dialect), **json.loads(line))
        for dialect in get_args(Dialect)
        for line in (folder / f"{dialect}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


REFUSED = [one for one in verdicts() if one.refused is not None]
ALLOWED = [one for one in verdicts() if one.runs is not None]


def name(one: Verdict) -> str:
    return f"{one.dialect}: {one.sql[:60]!r}"
