"""A page of confirmations is read from an index

Each page sorted all of them, with the whole request of each.

Revision: 0026, after 0025.
"""

from __future__ import annotations

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_confirmations_newest", "confirmations", ["created_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_confirmations_newest", "confirmations")
