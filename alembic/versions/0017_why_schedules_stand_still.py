"""Why a schedule stands still, and what became of its times, is said for programs too

What the service had said in sentences of its own gets the code that it has now. What a reason of
another kind said stays without one.

Revision: 0017, after 0016.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_PAUSED = {
    "paused": "schedule_paused",
    "paused by an administrator": "schedule_held",
    "expired": "schedule_expired",
    "The token that made this schedule no longer holds": "token_gone",
}
_REASONS = {
    "The schedule was deleted meanwhile": "schedule_gone",
    "The service stopped before the run began": "service_stopped",
    "The run before has not ended": "run_not_ended",
    "The token that made this schedule no longer holds": "token_gone",
}


def upgrade() -> None:
    op.add_column("schedules", sa.Column("paused_code", sa.String(), nullable=True))
    op.add_column("schedule_slots", sa.Column("reason_code", sa.String(), nullable=True))
    schedules = sa.table("schedules", sa.column("paused"), sa.column("paused_code"))
    for sentence, code in _PAUSED.items():
        op.execute(
            schedules.update().where(schedules.c.paused == sentence).values(paused_code=code)
        )
    slots = sa.table("schedule_slots", sa.column("reason"), sa.column("reason_code"))
    for sentence, code in _REASONS.items():
        op.execute(slots.update().where(slots.c.reason == sentence).values(reason_code=code))
    op.execute(
        slots.update()
        .where(slots.c.reason.like("% times passed while the service stood still"))
        .values(reason_code="times_missed")
    )


def downgrade() -> None:
    op.drop_column("schedule_slots", "reason_code")
    op.drop_column("schedules", "paused_code")
