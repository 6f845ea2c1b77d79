"""Lists of sessions are read from an index, and a call's rows take part in fewer of them

A list of all users' sessions sorted all of them. The index on the status of runs held every run,
though only those that have not ended are looked for; no query uses the one on parents of entries.

Revision: 0024, after 0023.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_CHATS = sa.text("kind = 'chat'")
_UNENDED = sa.text("status = 'running' OR status = 'queued'")


def upgrade() -> None:
    op.drop_index("ix_sessions_updated", "sessions")
    op.create_index("ix_sessions_newest", "sessions", ["updated_at", "id"])
    op.create_index("ix_sessions_of_user", "sessions", ["user_id", "kind", "updated_at", "id"])
    op.create_index(
        "ix_chats_newest",
        "sessions",
        ["updated_at", "id"],
        sqlite_where=_CHATS,
        postgresql_where=_CHATS,
    )
    op.drop_index("ix_runs_status", "runs")
    op.create_index(
        "ix_runs_unended",
        "runs",
        ["status"],
        sqlite_where=_UNENDED,
        postgresql_where=_UNENDED,
    )
    op.drop_index("ix_entries_parent_id", "entries")


def downgrade() -> None:
    op.create_index("ix_entries_parent_id", "entries", ["parent_id"])
    op.drop_index("ix_runs_unended", "runs")
    op.create_index("ix_runs_status", "runs", ["status"])
    op.drop_index("ix_chats_newest", "sessions")
    op.drop_index("ix_sessions_of_user", "sessions")
    op.drop_index("ix_sessions_newest", "sessions")
    op.create_index("ix_sessions_updated", "sessions", ["user_id", "kind", "updated_at"])
