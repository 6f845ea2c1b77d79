"""Connections of programs through the egress proxy are stored

Revision: 0032, after 0031.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

ZERO = sa.text("0")


def upgrade() -> None:
    op.create_table(
        "network_connections",
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("id", sa.String(), nullable=False, unique=True),
        sa.Column("ts", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("bytes_up", sa.Integer(), nullable=False, server_default=ZERO),
        sa.Column("bytes_down", sa.Integer(), nullable=False, server_default=ZERO),
        sa.Column("duration_s", sa.Float(), nullable=False, server_default=ZERO),
        sa.Column("operation_id", sa.String(), nullable=True),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("agent_id", sa.String(), nullable=True),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("project_id", sa.String(), nullable=True),
    )
    op.create_index("ix_network_connections_operation", "network_connections", ["operation_id"])
    op.create_index("ix_network_connections_host", "network_connections", ["host", "seq"])


def downgrade() -> None:
    op.drop_table("network_connections")
