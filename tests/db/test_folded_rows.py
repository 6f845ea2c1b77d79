"""A folded batch leaves the same rows as its statements one after the other."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.db.commits import SqliteTransaction, commit_rows, put_all
from app.db.folded_rows import Rows, fold
from app.db.schema import NEW_DATABASE
from app.db.statements import (
    ADD_ENDED_RUN,
    ADD_RUN,
    ADD_SESSION,
    ADD_USED_SESSION,
    FINISH_RUN,
    KEEP_BATCH,
    KEEP_PROGRESS,
    MOVE_LEAF,
    PARK_RUN,
    QUEUE_RUN,
    RENAME_SESSION,
    Statement,
)

SCHEMA = NEW_DATABASE.read_text(encoding="utf-8")
OLD, NEW = ("ses_old", "ses_1", "ses_2"), ("ses_1", "ses_2")
RUNS = ("run_1", "run_2", "run_3")


def session(session_id: str) -> tuple[Any, ...]:
    return (session_id, "direct", "t", None, None, "u", "m", 5, 0.5, "ep", "{}", "t0", "t0")


def run(run_id: str) -> tuple[Any, ...]:
    return (run_id, "ses_old", "rest", "running", "a", "m", "run_0", "owner", "t1")


def end(run_id: str, status: str) -> tuple[Any, ...]:
    return (status, "end_turn", '{"code":"x"}', '{"requests":1}', "t9", run_id)


def content(rows: Rows) -> list[Any]:
    """The rows of both tables after the batch, in a database with one session."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        raw.executescript(SCHEMA)
        raw.execute(ADD_SESSION.sql, session("ses_old"))
        commit_rows(SqliteTransaction(raw), rows, put_all)
        return [
            raw.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
            for table in ("sessions", "runs")
        ]


MOMENTS = st.sampled_from(["t2", "t3", "t4"])
STATEMENTS: dict[Statement, Any] = {
    MOVE_LEAF: st.tuples(st.sampled_from(["msg_1", "msg_2"]), MOMENTS, st.sampled_from(OLD)),
    RENAME_SESSION: st.tuples(st.just("renamed"), MOMENTS, st.sampled_from(OLD)),
    KEEP_BATCH: st.tuples(st.sampled_from([None, "[]"]), st.sampled_from(RUNS)),
    KEEP_PROGRESS: st.tuples(st.sampled_from([None, "{}"]), st.sampled_from(RUNS)),
    PARK_RUN: st.tuples(st.sampled_from(RUNS)),
    FINISH_RUN: st.builds(end, st.sampled_from(RUNS), st.sampled_from(["success", "failed"])),
}


@st.composite
def batches(draw: st.DrawFn) -> Rows:
    rows: Rows = {}
    for statement, row in STATEMENTS.items():
        if several := draw(st.lists(row, max_size=4)):
            rows[statement] = several
    if new := draw(st.lists(st.sampled_from(NEW), unique=True)):
        rows[ADD_SESSION] = [session(name) for name in new]
    started = draw(st.lists(st.sampled_from(RUNS), unique=True))
    queued, begun = started[:1], started[1:]
    if draw(st.booleans()):
        queued, begun = [], started
    if queued:
        rows[QUEUE_RUN] = [(*run(name), "{}") for name in queued]
    if begun:
        rows[ADD_RUN] = [run(name) for name in begun]
    return rows


@given(batches())
def test_a_folded_batch_leaves_what_its_statements_leave(rows: Rows):
    before = {statement: list(several) for statement, several in rows.items()}
    assert content(fold(rows)) == content(rows)
    assert rows == before


def test_a_new_session_and_an_ended_run_are_one_insert_each():
    rows: Rows = {
        ADD_SESSION: [session("ses_1")],
        MOVE_LEAF: [("msg_1", "t1", "ses_1"), ("msg_2", "t2", "ses_1")],
        ADD_RUN: [run("run_1")],
        KEEP_PROGRESS: [("{}", "run_1")],
        FINISH_RUN: [end("run_1", "success")],
    }
    assert list(fold(rows)) == [ADD_USED_SESSION, ADD_ENDED_RUN]


def test_what_is_not_of_this_batch_is_updated_as_before():
    rows: Rows = {
        ADD_SESSION: [session("ses_1")],
        MOVE_LEAF: [("msg_1", "t1", "ses_old")],
        ADD_RUN: [run("run_1")],
        FINISH_RUN: [end("run_2", "success")],
    }
    assert fold(rows) == rows
