"""Rules are proposed from repeated answers, with a proof

Revision: 0030, after 0029.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rule_proposals",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("proof", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("why", sa.String(), nullable=False, server_default=sa.text("''")),
        sa.Column("reason", sa.String(), nullable=False, server_default=sa.text("''")),
        sa.Column("requested_by", sa.Text(), nullable=True),
        sa.Column("rule_id", sa.String(), nullable=True),
        sa.Column("content_key", sa.String(), nullable=False),
        sa.Column("rules_digest", sa.String(), nullable=False),
        sa.Column("history_position", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("proven_at", sa.String(), nullable=False),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("decided_at", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")),
    )
    op.create_index("ix_rule_proposals_state", "rule_proposals", ["state"])
    op.create_index("ix_rule_proposals_newest", "rule_proposals", ["created_at", "id"])
    op.create_index("ix_rule_proposals_key", "rule_proposals", ["content_key"])


def downgrade() -> None:
    op.drop_table("rule_proposals")
