"""The gate

Revision: 0002, after 0001.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agents",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "audit",
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ts", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=True),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("agent_id", sa.String(), nullable=True),
        sa.Column("tool_name", sa.String(), nullable=True),
        sa.Column("operation_id", sa.String(), nullable=True),
        sa.Column("verdict", sa.String(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index("ix_audit_kind", ["kind", "seq"], unique=False)
        batch_op.create_index("ix_audit_ts", ["ts"], unique=False)

    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("first_previous", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("tool_name", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("scope_id", sa.String(), nullable=True),
        sa.Column("pattern", sa.Text(), nullable=False),
        sa.Column("confirmation_id", sa.String(), nullable=True),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("hits", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_used_at", sa.String(), nullable=True),
        sa.Column("revoked_at", sa.String(), nullable=True),
        sa.Column("revoked_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "logins",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=True),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("expires_at", sa.String(), nullable=False),
        sa.Column("last_used_at", sa.String(), nullable=True),
        sa.Column("revoked_at", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("sha256"),
    )
    op.create_table(
        "rules",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
        sa.Column("hits", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_hit_at", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "toolsets",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "changes",
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("subject"),
    )
    op.create_table(
        "event_blocks",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("epoch", sa.String(), nullable=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("first_position", sa.Integer(), nullable=False),
        sa.Column("last_position", sa.Integer(), nullable=False),
        sa.Column("covers_to", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    with op.batch_alter_table("event_blocks", schema=None) as batch_op:
        batch_op.create_index(
            "ix_event_blocks_session", ["session_id", "epoch", "last_seq"], unique=False
        )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.drop_constraint("uq_events_place", type_="unique")
    with op.batch_alter_table("tool_calls", schema=None) as batch_op:
        batch_op.drop_index("ix_tool_calls_session")
        batch_op.create_index("ix_tool_calls_session", ["session_id"], unique=False)

    with op.batch_alter_table("confirmations", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("call", sa.Text(), server_default=sa.text("'{}'"), nullable=False)
        )
        batch_op.add_column(sa.Column("edited_args", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("consumed_at", sa.String(), nullable=True))

    with op.batch_alter_table("projects", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False)
        )
        batch_op.add_column(sa.Column("updated_at", sa.String(), nullable=True))

    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("usage", sa.String(), server_default=sa.text("'{}'"), nullable=False)
        )

    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.add_column(sa.Column("agents", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("projects", sa.String(), nullable=True))
        batch_op.add_column(
            sa.Column("limits", sa.String(), server_default=sa.text("'{}'"), nullable=False)
        )
        batch_op.add_column(sa.Column("created_by", sa.String(), nullable=True))

    with op.batch_alter_table("tools", schema=None) as batch_op:
        batch_op.add_column(sa.Column("is_core", sa.Boolean(), nullable=True))
        batch_op.add_column(sa.Column("timeout_s", sa.Float(), nullable=True))
        batch_op.add_column(sa.Column("max_output_chars", sa.Integer(), nullable=True))
        batch_op.add_column(
            sa.Column("limits", sa.String(), server_default=sa.text("'{}'"), nullable=False)
        )


def downgrade() -> None:
    with op.batch_alter_table("tools", schema=None) as batch_op:
        batch_op.drop_column("limits")
        batch_op.drop_column("max_output_chars")
        batch_op.drop_column("timeout_s")
        batch_op.drop_column("is_core")

    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.drop_column("created_by")
        batch_op.drop_column("limits")
        batch_op.drop_column("projects")
        batch_op.drop_column("agents")

    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_column("usage")

    with op.batch_alter_table("projects", schema=None) as batch_op:
        batch_op.drop_column("updated_at")
        batch_op.drop_column("version")

    with op.batch_alter_table("confirmations", schema=None) as batch_op:
        batch_op.drop_column("consumed_at")
        batch_op.drop_column("edited_args")
        batch_op.drop_column("call")

    with op.batch_alter_table("tool_calls", schema=None) as batch_op:
        batch_op.drop_index("ix_tool_calls_session")
        batch_op.create_index("ix_tool_calls_session", ["session_id", "started_at"], unique=False)
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_unique_constraint("uq_events_place", ["session_id", "epoch", "seq"])
    op.drop_table("event_blocks")
    op.drop_table("changes")
    op.drop_table("toolsets")
    op.drop_table("rules")
    op.drop_table("logins")
    op.drop_table("grants")
    op.drop_table("audit_head")
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.drop_index("ix_audit_ts")
        batch_op.drop_index("ix_audit_kind")

    op.drop_table("audit")
    op.drop_table("agents")
