"""What sessions wrote in a workspace is kept

Revision: 0019, after 0018.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "written",
        sa.Column("root", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("began", sa.Float(), nullable=False),
        sa.Column("ended", sa.Float(), nullable=False),
    )
    op.create_index("ix_written_ended", "written", ["ended"])


def downgrade() -> None:
    op.drop_table("written")
