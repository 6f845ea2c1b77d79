"""Tables: proposed rules. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel

from app.db.tables import EMPTY, ONE


class RuleProposalRow(SQLModel, table=True):
    """Proposed change of the rules, with the proof that it stood on when it was last computed.

    `kind` is allow, deny or remove; `state` is open, accepted, dismissed or stale. `content_key`
    is equal for the same rule from other evidence. `rule_id` is the rule to remove, or the one
    that was created. `requested_by` and `reason` are those of an agent that asked for it.
    """

    __tablename__ = "rule_proposals"
    __table_args__ = (
        Index("ix_rule_proposals_newest", "created_at", "id"),
        Index("ix_rule_proposals_key", "content_key"),
    )
    id: str = Field(primary_key=True)
    kind: str
    body: str = Field(sa_column=Column(Text, nullable=False))
    proof: str = Field(sa_column=Column(Text, nullable=False))
    evidence: str = Field(sa_column=Column(Text, nullable=False))
    state: str = Field(index=True)
    why: str = Field(default="", sa_column_kwargs=EMPTY)
    reason: str = Field(default="", sa_column_kwargs=EMPTY)
    requested_by: str | None = Field(default=None, sa_column=Column(Text))
    rule_id: str | None = None
    content_key: str
    rules_digest: str
    history_position: str
    created_at: str
    proven_at: str
    decided_by: str | None = None
    decided_at: str | None = None
    version: int = Field(default=1, sa_column_kwargs=ONE)
