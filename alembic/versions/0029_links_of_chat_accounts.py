"""Chat accounts linked to users, the codes that link them, and positions in streams of updates

Revision: 0029, after 0028.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "notification_link_codes",
        sa.Column("sha256", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("token_id", sa.String()),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("expires_at", sa.String(), nullable=False),
    )
    op.create_index(
        "ix_notification_link_codes_user", "notification_link_codes", ["user_id", "expires_at"]
    )
    op.create_table(
        "notification_links",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("sender", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("token_id", sa.String()),
        sa.Column("created_at", sa.String(), nullable=False),
    )
    op.create_index(
        "ix_notification_links_sender", "notification_links", ["channel", "sender"], unique=True
    )
    op.create_index("ix_notification_links_user", "notification_links", ["user_id", "created_at"])
    op.create_table(
        "notification_offsets",
        sa.Column("stream", sa.String(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("notification_offsets")
    op.drop_table("notification_links")
    op.drop_table("notification_link_codes")
