"""Memory

Revision: 0004, after 0003.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "memory_places",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("counter", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("scope", "owner"),
    )
    op.create_table(
        "memories",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("place_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("tags", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("agent_id", sa.String(), nullable=True),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["place_id"], ["memory_places.id"]),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        sa.UniqueConstraint("place_id", "key"),
    )
    op.create_index("ix_memories_place", "memories", ["place_id", "number"])
    # Its words are cut by the service, which writes ASCII alone: see docs/memory.md.
    op.execute(
        "CREATE VIRTUAL TABLE memory_words USING fts5(place, tags, words,"
        " tokenize=\"ascii tokenchars '_'\")"
    )


def downgrade() -> None:
    op.execute("DROP TABLE memory_words")
    op.drop_table("memories")
    op.drop_table("memory_places")
