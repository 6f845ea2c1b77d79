"""The workspace

Revision: 0003, after 0002.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("operation_id", sa.String(), nullable=False),
        sa.Column("before_sha256", sa.String(), nullable=True),
        sa.Column("before_size", sa.Integer(), nullable=True),
        sa.Column("before_mode", sa.Integer(), nullable=True),
        sa.Column("unkept", sa.String(), nullable=False),
        sa.Column("after_sha256", sa.String(), nullable=True),
        sa.Column("restores", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("changed_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "run_id", "project_id", "path"),
    )
    op.add_column(
        "projects", sa.Column("network", sa.String(), server_default=sa.text("''"), nullable=False)
    )


def downgrade() -> None:
    op.drop_table("checkpoints")
    op.drop_column("projects", "network")
