"""Totals by day are those of the rows that they count, whatever the order of the commits."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.commits import SqliteTransaction, commit_rows, put_all
from app.db.folded_rows import Rows, fold
from app.db.schema import HEAD, NEW_DATABASE, ensure_schema, upgrade
from app.db.statements import (
    ADD_CALL,
    ADD_CONFIRMATION,
    ADD_RUN,
    ADD_SESSION,
    FINISH_CALL,
    FINISH_RUN,
    START_CALL,
)
from app.db.totals import NOT_RUN, TOKENS, duration_class, seconds_of

SCHEMA = NEW_DATABASE.read_text(encoding="utf-8")
SESSION = ("ses_1", "direct", "t", None, None, "u", None, None, None, "ep", "{}", "t0", "t0")
MOMENTS = [f"2026-11-{day:02}T{hour:02}:00:00.000Z" for day in (1, 2) for hour in (0, 23)]
CALLS = """
    SELECT substr(started_at, 1, 10), tool_name, coalesce(agent_id, ''), status, execution_time
    FROM tool_calls WHERE status <> 'started'
"""
RUNS = """
    SELECT substr(started_at, 1, 10), coalesce(agent_id, ''), coalesce(model, ''), usage
    FROM runs WHERE finished_at IS NOT NULL
"""


def head(number: int, status: str, agent_id: str | None, moment: str) -> tuple[Any, ...]:
    return (f"op_{number}", "c", "ses_1", None, agent_id, "bash", "{}", status, moment)


def ended(number: int, status: str, *facts: Any, seconds: float) -> tuple[Any, ...]:
    return (*head(number, status, *facts), None, None, 1, 0, 0, None, None, seconds, None)


def call_totals(raw: sqlite3.Connection) -> dict[tuple[Any, ...], int]:
    return {row[:-1]: row[-1] for row in raw.execute("SELECT * FROM call_totals")}


def run_totals(raw: sqlite3.Connection) -> dict[tuple[Any, ...], list[float]]:
    return {row[:3]: list(row[3:]) for row in raw.execute("SELECT * FROM run_totals")}


def counted_calls(raw: sqlite3.Connection) -> dict[tuple[Any, ...], int]:
    """The same from the rows."""
    totals: dict[tuple[Any, ...], int] = {}
    for *key, seconds in raw.execute(CALLS):
        place = (*key, duration_class(seconds))
        totals[place] = totals.get(place, 0) + 1
    for day, tool, agent in raw.execute(
        "SELECT substr(created_at, 1, 10), tool_name, coalesce(agent_id, '') FROM confirmations"
    ):
        place = (day, tool, agent, "asked", NOT_RUN)
        totals[place] = totals.get(place, 0) + 1
    return totals


def counted_runs(raw: sqlite3.Connection) -> dict[tuple[Any, ...], list[float]]:
    totals: dict[tuple[Any, ...], list[float]] = {}
    for *key, text in raw.execute(RUNS):
        usage = orjson.loads(text) if text.startswith("{") else {}
        tokens = [usage.get(name, 0) for name in TOKENS]
        tokens = [number if isinstance(number, int) else 0 for number in tokens]
        if any(tokens):
            cost = usage.get("cost")
            numbers = [1, *tokens, cost or 0.0, sum(tokens) if cost is None else 0]
            before = totals.setdefault(tuple(key), [0.0] * len(numbers))
            totals[tuple(key)] = [a + b for a, b in zip(before, numbers, strict=True)]
    return totals


AGENTS = st.sampled_from([None, "writer"])
FACTS = st.tuples(AGENTS, st.sampled_from(MOMENTS))
USAGE = st.sampled_from(
    [
        "{}",
        '{"input_tokens":3,"output_tokens":1}',
        '{"input_tokens":5,"cost":0.25,"cache_read_tokens":2}',
        '{"input_tokens":0,"cost":0}',
        '{"input_tokens":"many","output_tokens":2,"cost":null}',
        "[1]",
        "damaged",
    ]
)
SECONDS = st.sampled_from([0.0, 0.001, 0.0011, 2.5])


@st.composite
def histories(draw: st.DrawFn) -> list[Rows]:
    """Commits of calls, confirmations and runs, each with its start and end in any of them."""
    commits: list[Rows] = [{ADD_SESSION: [SESSION]}, {}, {}, {}]

    def put(at: int, statement: Any, row: Any) -> None:
        commits[at].setdefault(statement, []).append(row)

    for number in range(draw(st.integers(0, 6))):
        facts, seconds = draw(FACTS), draw(SECONDS)
        start = draw(st.integers(0, 3))
        status = draw(st.sampled_from(["success", "error"]))
        if draw(st.booleans()):
            put(start, ADD_CALL, ended(number, status, *facts, seconds=seconds))
            continue
        put(start, START_CALL, head(number, "started", *facts))
        for end in draw(st.lists(st.integers(start, 3), max_size=2)):
            put(end, FINISH_CALL, ended(number, status, *facts, seconds=seconds))
        if draw(st.booleans()):
            asked = (f"cf_{number}", "ses_1", None, "c", f"op_{number}", facts[0], "bash")
            row = (*asked, "d", "pending", "{}", "{}", facts[1], None)
            put(start, ADD_CONFIRMATION, row)
    for number in range(draw(st.integers(0, 5))):
        agent_id, moment = draw(FACTS)
        start = draw(st.integers(0, 3))
        model = draw(st.sampled_from([None, "m"]))
        run = (f"run_{number}", "ses_1", "rest", "running", agent_id, model, None, None, moment)
        put(start, ADD_RUN, run)
        usage = draw(USAGE)
        for end in draw(st.lists(st.integers(start, 3), max_size=2)):
            put(end, FINISH_RUN, ("success", None, None, usage, moment, f"run_{number}"))
    return commits


@given(histories(), st.sampled_from(["folded", "as they are"]))
def test_totals_are_those_of_the_rows(commits: list[Rows], how: str):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        raw.executescript(SCHEMA)
        for rows in commits:
            commit_rows(SqliteTransaction(raw), fold(rows) if how == "folded" else rows, put_all)
        assert call_totals(raw) == counted_calls(raw)
        assert run_totals(raw) == counted_runs(raw)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of the revision before, with rows."""
    found = tmp_path / "tollgate.db"
    upgrade(found, "0024")
    with closing(sqlite3.connect(found, isolation_level=None)) as raw:
        transaction = SqliteTransaction(raw)
        raw.execute(ADD_SESSION.sql, SESSION)
        for number, moment in enumerate(MOMENTS * 3):
            agent_id = "writer" if number % 2 else None
            raw.execute(ADD_CALL.sql, ended(number, "success", agent_id, moment, seconds=number))
            run = (f"run_{number}", "ses_1", "rest", "running", agent_id, "m", None, None, moment)
            transaction.execute(ADD_RUN.sql, run)
            usage = orjson.dumps({"input_tokens": number, "cost": 0.5} if number % 3 else {})
            end = ("success", None, None, usage.decode(), moment, f"run_{number}")
            transaction.execute(FINISH_RUN.sql, end)
        raw.execute(START_CALL.sql, head(99, "started", None, MOMENTS[0]))
        asked = ("cf_1", "ses_1", None, "c", "op_1", None, "bash", "d", "pending", "{}", "{}")
        raw.execute(ADD_CONFIRMATION.sql, (*asked, MOMENTS[0], None))
    return found


def test_the_migration_counts_what_is_there(path: Path):
    assert HEAD >= "0025"
    assert ensure_schema(path)
    with closing(sqlite3.connect(path)) as raw:
        assert call_totals(raw) == counted_calls(raw) != {}
        assert run_totals(raw) == counted_runs(raw) != {}


@pytest.mark.parametrize("seconds", [1e-6, 0.001, 0.0123, 1.0, 59.9, 86_400.0])
def test_a_duration_is_known_within_one_percent(seconds: float):
    assert seconds_of(duration_class(seconds)) == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_what_did_not_run_has_no_duration(seconds: float):
    assert duration_class(seconds) == NOT_RUN
