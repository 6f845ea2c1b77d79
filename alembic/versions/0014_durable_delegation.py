"""Durable delegation: whose batch it is, and how far its tasks have come

Revision: 0014, after 0013.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("delegation_batches", sa.Column("parent", sa.Text(), nullable=True))
    op.add_column("delegated_tasks", sa.Column("progress", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("delegated_tasks", "progress")
    op.drop_column("delegation_batches", "parent")
