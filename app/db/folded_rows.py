"""Inserts that include the updates of the same batch.

A direct call creates a session and a run, and ends both a millisecond later. In one commit, each is
one insert instead of an insert and an update, which would look the row up and write it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.db.statements import (
    ADD_ENDED_RUN,
    ADD_RUN,
    ADD_SESSION,
    ADD_USED_SESSION,
    FINISH_RUN,
    KEEP_BATCH,
    KEEP_PROGRESS,
    MOVE_LEAF,
    Statement,
)

Row = Sequence[Any]
Rows = dict[Statement, list[Row]]

# Statements whose value the end of the run clears.
_UNTIL_THE_END = (KEEP_BATCH, KEEP_PROGRESS)


def fold(rows: Rows) -> Rows:
    """Return the rows of a batch with fewer statements and the same effect; `rows` is unchanged."""
    folded = rows
    if ADD_SESSION in rows and MOVE_LEAF in rows:
        folded = _used_sessions(dict(folded))
    if ADD_RUN in rows and FINISH_RUN in rows:
        folded = _ended_runs(dict(folded))
    return folded


def _used_sessions(rows: Rows) -> Rows:
    """Combine new sessions with their last leaf; `updated_at` is the last column of a new one."""
    leaves = {row[-1]: row for row in rows[MOVE_LEAF]}
    new: list[Row] = []
    used: list[Row] = []
    for row in rows[ADD_SESSION]:
        moved = leaves.pop(row[0], None)
        if moved is None:
            new.append(row)
        else:
            leaf, updated_at, _ = moved
            used.append((*row[:-1], updated_at, leaf))
    folded = {row[0] for row in used}
    _put(rows, ADD_SESSION, new)
    _put(rows, ADD_USED_SESSION, used)
    _put(rows, MOVE_LEAF, [row for row in rows[MOVE_LEAF] if row[-1] not in folded])
    return rows


def _ended_runs(rows: Rows) -> Rows:
    """Combine new runs with their end; `status` is the fourth column of a new one."""
    ends = {row[-1]: row for row in rows[FINISH_RUN]}
    new: list[Row] = []
    ended: list[Row] = []
    for row in rows[ADD_RUN]:
        end = ends.get(row[0])
        if end is None:
            new.append(row)
        else:
            status, *rest, _ = end
            ended.append((*row[:3], status, *row[4:], *rest))
    folded = {row[0] for row in ended}
    _put(rows, ADD_RUN, new)
    _put(rows, ADD_ENDED_RUN, ended)
    for statement in (FINISH_RUN, *_UNTIL_THE_END):
        if statement in rows:
            left = [row for row in rows[statement] if row[-1] not in folded]
            _put(rows, statement, left)
    return rows


def _put(rows: Rows, statement: Statement, ready: list[Row]) -> None:
    if ready:
        rows[statement] = ready
    else:
        rows.pop(statement, None)
