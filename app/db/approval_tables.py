"""Tables: who answers confirmations. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel


class ApproverGroupRow(SQLModel, table=True):
    """Group of approvers. `members` is a JSON list of user IDs."""

    __tablename__ = "approver_groups"
    id: str = Field(primary_key=True)
    name: str
    members: str = Field(sa_column=Column(Text, nullable=False))
    version: int
    created_at: str
    updated_at: str


class ApprovalPolicyRow(SQLModel, table=True):
    """Policy that names the approvers of requests. `body` is its selector, steps and limits."""

    __tablename__ = "approval_policies"
    id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    position: int
    enabled: int
    body: str = Field(sa_column=Column(Text, nullable=False))
    version: int
    created_at: str
    updated_at: str


class SubstitutionRow(SQLModel, table=True):
    """User who answers for another. `starts_at` and `ends_at` are Unix times."""

    __tablename__ = "approval_substitutions"
    __table_args__ = (Index("ix_approval_substitutions_ends", "ends_at"),)
    id: str = Field(primary_key=True)
    user_id: str
    substitute_id: str
    note: str
    starts_at: float
    ends_at: float
    created_by: str
    created_at: str
    revoked_at: str | None = None
    revoked_by: str | None = None


class ConfirmationGroupRow(SQLModel, table=True):
    """Group that may answer a confirmation from a Unix time on."""

    __tablename__ = "confirmation_groups"
    __table_args__ = (Index("ix_confirmation_groups_group", "group_id"),)
    confirmation_id: str = Field(primary_key=True)
    group_id: str = Field(primary_key=True)
    active_at: float


class ConfirmationVoteRow(SQLModel, table=True):
    """Approval that counts towards a quorum: one for each person, by the normalized user ID."""

    __tablename__ = "confirmation_votes"
    confirmation_id: str = Field(primary_key=True)
    person: str = Field(primary_key=True)
    user_id: str
    digest: str
    created_at: str
