"""The events that one commit brings of a session are one row

A row of before is a row of one event. The way back takes the rows apart again.

Revision: 0018, after 0017.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_PAGE = 500


def _rows(*, many: bool) -> sa.Table:
    of_many = (sa.Column("more", sa.Integer(), nullable=False),) if many else ()
    return sa.Table(
        "events_then",
        sa.MetaData(),
        sa.Column("position", sa.Integer(), primary_key=True),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("epoch", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        *of_many,
        sa.Column("types" if many else "type", sa.String(), nullable=False),
        sa.Column("ts", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
    )


def upgrade() -> None:
    _rows(many=True).create(op.get_bind())
    op.execute(
        "INSERT INTO events_then (position, session_id, epoch, seq, more, types, ts, body)"
        " SELECT position, session_id, epoch, seq, 0, type, ts, body FROM events"
    )
    op.drop_table("events")
    op.rename_table("events_then", "events")


def downgrade() -> None:
    bind = op.get_bind()
    then = _rows(many=False)
    then.create(bind)
    last = 0
    page = "SELECT position, session_id, epoch, seq, types, ts, body FROM events"
    while rows := bind.execute(
        sa.text(f"{page} WHERE position > :last ORDER BY position LIMIT {_PAGE}"), {"last": last}
    ).all():
        last = rows[-1].position
        bind.execute(then.insert(), [single for row in rows for single in _apart(row)])
    op.drop_table("events")
    op.rename_table("events_then", "events")
    # They tell places that are others now, and are written anew as events come.
    op.execute("DELETE FROM event_blocks")


def _apart(row: sa.Row[tuple[int, str, str, int, str, str, bytes]]) -> list[dict[str, object]]:
    _, session_id, epoch, first, types, ts, body = row
    kinds = types.split(" ")
    bodies = [body] if len(kinds) == 1 else body.split(b"\n")
    return [
        {
            "session_id": session_id,
            "epoch": epoch,
            "seq": seq,
            "type": kind,
            "ts": ts,
            "body": line,
        }
        for seq, (kind, line) in enumerate(zip(kinds, bodies, strict=True), first)
    ]
