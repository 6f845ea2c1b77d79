"""Approver groups, approval policies, substitutes, votes, and grants with a number of uses

Revision: 0027, after 0026.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "approver_groups",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("members", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
    )
    op.create_table(
        "approval_policies",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False, unique=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("enabled", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
    )
    op.create_table(
        "approval_substitutions",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("substitute_id", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("starts_at", sa.Float(), nullable=False),
        sa.Column("ends_at", sa.Float(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("revoked_at", sa.String(), nullable=True),
        sa.Column("revoked_by", sa.String(), nullable=True),
    )
    op.create_index("ix_approval_substitutions_ends", "approval_substitutions", ["ends_at"])
    op.create_table(
        "confirmation_groups",
        sa.Column("confirmation_id", sa.String(), primary_key=True),
        sa.Column("group_id", sa.String(), primary_key=True),
        sa.Column("active_at", sa.Float(), nullable=False),
    )
    op.create_index("ix_confirmation_groups_group", "confirmation_groups", ["group_id"])
    op.create_table(
        "confirmation_votes",
        sa.Column("confirmation_id", sa.String(), primary_key=True),
        sa.Column("person", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
    )
    op.add_column("grants", sa.Column("max_uses", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("grants", "max_uses")
    op.drop_table("confirmation_votes")
    op.drop_index("ix_confirmation_groups_group", "confirmation_groups")
    op.drop_table("confirmation_groups")
    op.drop_index("ix_approval_substitutions_ends", "approval_substitutions")
    op.drop_table("approval_substitutions")
    op.drop_table("approval_policies")
    op.drop_table("approver_groups")
