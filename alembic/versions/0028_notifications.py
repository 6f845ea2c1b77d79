"""Notifications about pending requests: channels, subscriptions, outbox and capabilities

Revision: 0028, after 0027.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def _texts(*names: str) -> tuple[sa.Column[str], ...]:
    return tuple(sa.Column(name, sa.String(), nullable=False) for name in names)


def upgrade() -> None:
    op.create_table(
        "notification_channels",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False, unique=True),
        *_texts("kind"),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("settings", "secrets")),
        sa.Column("secret_names", sa.Text(), nullable=False),
        *_texts("origin", "content", "buttons"),
        sa.Column("enabled", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        *_texts("created_at", "updated_at"),
    )
    op.create_table(
        "notification_subscriptions",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column(
            "channel_id", sa.String(), sa.ForeignKey("notification_channels.id"), nullable=False
        ),
        *_texts("audience", "label"),
        sa.Column("address", sa.Text(), nullable=False),
        *_texts("hint"),
        sa.Column("token_id", sa.String()),
        *_texts("created_by", "created_at"),
        sa.Column("version", sa.Integer(), nullable=False),
    )
    op.create_index(
        "ix_notification_subscriptions_audience", "notification_subscriptions", ["audience"]
    )
    op.create_index(
        "ix_notification_subscriptions_channel_id", "notification_subscriptions", ["channel_id"]
    )
    _outbox()
    op.create_table(
        "answer_capabilities",
        sa.Column("sha256", sa.String(), primary_key=True),
        *_texts("confirmation_id", "digest", "user_id"),
        sa.Column("token_id", sa.String()),
        *_texts("option_id", "subscription_id", "created_at"),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("used_at", sa.String()),
    )
    op.create_index(
        "ix_answer_capabilities_confirmation_id", "answer_capabilities", ["confirmation_id"]
    )
    op.create_index("ix_answer_capabilities_expires_at", "answer_capabilities", ["expires_at"])


def _outbox() -> None:
    op.create_table(
        "notifications",
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("id", sa.String(), nullable=False, unique=True),
        *_texts("item_id", "event"),
        sa.Column("occurrence", sa.Integer(), nullable=False),
        *_texts("subscription_id", "channel_id", "closes"),
        sa.Column("facts", sa.Text(), nullable=False),
        *_texts("state"),
        sa.Column("uncertain", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("reference", sa.Text()),
        sa.Column("error", sa.Text()),
        *_texts("created_at"),
        sa.Column("finished_at", sa.String()),
        sa.UniqueConstraint("item_id", "event", "occurrence", "subscription_id", "closes"),
    )
    op.create_index("ix_notifications_due", "notifications", ["state", "due_at"])
    op.create_index("ix_notifications_closes", "notifications", ["closes"])
    op.create_index("ix_notifications_subscription", "notifications", ["subscription_id"])
    op.create_index("ix_notifications_finished", "notifications", ["finished_at"])


def downgrade() -> None:
    for table in (
        "answer_capabilities",
        "notifications",
        "notification_subscriptions",
        "notification_channels",
    ):
        op.drop_table(table)
