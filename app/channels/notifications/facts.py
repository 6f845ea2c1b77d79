"""What the outbox stores of a pending request, to build messages from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import orjson

from app.domain.owners import SessionOwner
from app.governance.approvals.approver import ApprovalCase, ApprovalTerms

RequestKind = Literal["confirmation", "question"]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Pending request, without secrets.

    Attributes:
        owner: None if its session is not open.
        agent: name or ID of the agent; None for a request without one.
        title: the call or the question in one line.
        details: command or arguments, and targets; empty if unknown.
        digest: what an answer to a confirmation is bound to.
        expires_at: RFC 3339.
        outcome: how it ended; None while it is pending.
        by: user who answered.
        terms: what an approval policy requires; None without a policy.
    """

    kind: RequestKind
    item_id: str
    session_id: str
    owner: SessionOwner | None
    agent: str | None
    tool_name: str
    title: str
    risk: str | None = None
    expires_at: str | None = None
    details: str = ""
    digest: str | None = None
    outcome: str | None = None
    by: str | None = None
    terms: ApprovalTerms | None = None

    @property
    def case(self) -> ApprovalCase:
        """Return what decides who may answer."""
        return ApprovalCase(self.owner, self.terms)

    def ended(self, outcome: str, by: str | None) -> RequestFacts:
        """Return the facts of the ended request."""
        return replace(self, outcome=outcome, by=by)

    def to_json(self) -> str:
        """Return the stored form."""
        fields = asdict(self) | {"terms": self.terms.to_dict() if self.terms else None}
        return orjson.dumps(fields).decode()

    @classmethod
    def from_json(cls, text: str) -> RequestFacts:
        """Return stored facts."""
        fields: dict[str, Any] = orjson.loads(text)
        owner, terms = fields.pop("owner"), fields.pop("terms", None)
        return cls(
            owner=None if owner is None else SessionOwner(**owner),
            terms=ApprovalTerms.from_dict(terms),
            **fields,
        )
