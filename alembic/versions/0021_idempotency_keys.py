"""Requests and their answers are kept under the keys of their senders

Revision: 0021, after 0020.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("door", sa.String(), primary_key=True),
        sa.Column("owner", sa.String(), primary_key=True),
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("kept_until", sa.Float(), nullable=False),
    )
    op.create_index("ix_idempotency_keys_kept_until", "idempotency_keys", ["kept_until"])


def downgrade() -> None:
    op.drop_table("idempotency_keys")
