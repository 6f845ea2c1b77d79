"""Totals of calls and runs by day, so that reports do not read every row

Revision: 0025, after 0024.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import sqlalchemy as sa

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
_CALLS = (
    "SELECT substr(started_at, 1, 10), tool_name, coalesce(agent_id, ''), status, execution_time"
    " FROM tool_calls WHERE status <> 'started'"
)
_ASKED = "SELECT substr(created_at, 1, 10), tool_name, coalesce(agent_id, '') FROM confirmations"
_RUNS = (
    "SELECT substr(started_at, 1, 10), coalesce(agent_id, ''), coalesce(model, ''), usage"
    " FROM runs WHERE usage <> '{}' AND finished_at IS NOT NULL"
)


def upgrade() -> None:
    calls = op.create_table(
        "call_totals",
        sa.Column("day", sa.String(), primary_key=True),
        sa.Column("tool_name", sa.String(), primary_key=True),
        sa.Column("agent_id", sa.String(), primary_key=True),
        sa.Column("status", sa.String(), primary_key=True),
        sa.Column("duration_class", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("calls", sa.Integer(), nullable=False),
    )
    runs = op.create_table(
        "run_totals",
        sa.Column("day", sa.String(), primary_key=True),
        sa.Column("agent_id", sa.String(), primary_key=True),
        sa.Column("model", sa.String(), primary_key=True),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("runs", *_TOKENS)),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("unpriced_tokens", sa.Integer(), nullable=False),
    )
    assert calls is not None
    assert runs is not None
    bind = op.get_bind()
    counted: Counter[tuple[Any, ...]] = Counter()
    for day, tool_name, agent_id, status, seconds in bind.execute(sa.text(_CALLS)):
        number = round(math.log(seconds) / math.log(1.02)) if seconds > 0 else -10_000
        counted[day, tool_name, agent_id, status, number] += 1
    for key in bind.execute(sa.text(_ASKED)):
        counted[*key, "asked", -10_000] += 1
    names = ("day", "tool_name", "agent_id", "status", "duration_class")
    _insert(calls, [dict(zip(names, key, strict=True), calls=n) for key, n in counted.items()])
    _insert(runs, _runs(bind))


def _runs(bind: sa.Connection) -> list[dict[str, Any]]:
    sums: dict[tuple[str, str, str], Counter[str]] = {}
    for day, agent_id, model, text in bind.execute(sa.text(_RUNS)):
        usage = json.loads(text)
        tokens = {name: int(usage.get(name, 0)) for name in _TOKENS}
        if not any(tokens.values()):
            continue
        total: Counter[Any] = sums.setdefault((day, agent_id, model), Counter(cost=0.0))
        cost = usage.get("cost")
        unpriced = sum(tokens.values()) if cost is None else 0
        for name, number in {**tokens, "runs": 1, "unpriced_tokens": unpriced}.items():
            total[name] += number
        total["cost"] += float(cost or 0)
    return [
        {"day": day, "agent_id": agent_id, "model": model, **total}
        for (day, agent_id, model), total in sums.items()
    ]


def _insert(table: sa.Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        op.bulk_insert(table, rows)


def downgrade() -> None:
    op.drop_table("run_totals")
    op.drop_table("call_totals")
