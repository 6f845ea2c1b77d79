"""What the audit has beside the ends of calls is found without looking through them

The index on kinds took part in every call's row, and no question that was asked could use it.

Revision: 0016, after 0015.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_BESIDE_CALLS = sa.text("kind <> 'call.finished'")


def upgrade() -> None:
    op.drop_index("ix_audit_kind", "audit")
    op.create_index(
        "ix_audit_beside_calls",
        "audit",
        ["seq"],
        sqlite_where=_BESIDE_CALLS,
        postgresql_where=_BESIDE_CALLS,
    )


def downgrade() -> None:
    op.drop_index("ix_audit_beside_calls", "audit")
    op.create_index("ix_audit_kind", "audit", ["kind", "seq"])
