"""Identity of a user who answers, and the request that the answer is about."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from app.core.clock import stamp
from app.domain.owners import SessionOwner
from app.governance.identity.token_rules import DEFAULT_AGENT

PrincipalKind = Literal["person", "agent", "subagent", "schedule", "webhook"]


@dataclass(frozen=True, slots=True)
class Approver:
    """Identity of the user who answers. Only people may answer; some answers require an
    administrator.

    Attributes:
        agents, projects: agents and projects whose calls the user may answer for; None for all.
        approves: whether the token has the scope `approve`, which covers the user's own sessions
            and the groups of which the user is a member.
        groups: groups for which the token has a scope of its own, such as `approve:payments`.
    """

    user_id: str
    is_admin: bool = False
    kind: PrincipalKind = "person"
    agents: frozenset[str] | None = None
    projects: frozenset[str] | None = None
    approves: bool = True
    groups: frozenset[str] = field(default=frozenset())

    def may_answer_for(self, agent_id: str | None) -> bool:
        return self.agents is None or (agent_id or DEFAULT_AGENT) in self.agents

    def reaches(self, owner: SessionOwner) -> bool:
        """Return whether the token is not limited to other agents or projects."""
        within = self.projects is None or owner.project_id in self.projects
        return within and self.may_answer_for(owner.agent_id)


@dataclass(frozen=True, slots=True)
class TermsStep:
    """Approvers from a time on.

    Attributes:
        groups: IDs of groups.
        owner: the owner of the session may answer too.
        at: Unix time from which they may answer.
    """

    groups: tuple[str, ...]
    owner: bool
    at: float


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    """What a policy requires of one request. It stays as it was when the request was opened.

    Attributes:
        requester: user who sent the message or call that led to it.
        quorum: number of different people who must approve.
        not_requester: the requester may not answer.
        context_turns: turns of the conversation that approvers may read.
        approved_by: users who have approved so far.
    """

    policy_id: str
    policy: str
    requester: str | None
    steps: tuple[TermsStep, ...]
    quorum: int = 1
    not_requester: bool = False
    context_turns: int = 0
    approved_by: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """Return every group that may answer at some time, in order."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.groups))

    def active_groups(self, now: float) -> tuple[str, ...]:
        """Return the groups that may answer now, in order."""
        active = (step for step in self.steps if step.at <= now)
        return tuple(dict.fromkeys(name for step in active for name in step.groups))

    def admits_owner(self, now: float) -> bool:
        """Return whether the owner of the session may answer now."""
        return any(step.owner for step in self.steps if step.at <= now)

    def approved_also_by(self, user_id: str) -> ApprovalTerms:
        return replace(self, approved_by=(*self.approved_by, user_id))

    def to_dict(self) -> dict[str, Any]:
        """Return the form in events and rows."""
        return {
            "policy_id": self.policy_id,
            "policy": self.policy,
            "requester": self.requester,
            "steps": [
                {"groups": list(step.groups), "owner": step.owner, "at": stamp(step.at)}
                for step in self.steps
            ],
            "quorum": self.quorum,
            "not_requester": self.not_requester,
            "context_turns": self.context_turns,
            "approved_by": list(self.approved_by),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> ApprovalTerms | None:
        """Parse `to_dict`; None for a request without a policy."""
        if not stored:
            return None
        steps = tuple(
            TermsStep(tuple(step["groups"]), bool(step["owner"]), _seconds(step["at"]))
            for step in stored["steps"]
        )
        return cls(
            policy_id=stored["policy_id"],
            policy=stored["policy"],
            requester=stored.get("requester"),
            steps=steps,
            quorum=int(stored["quorum"]),
            not_requester=bool(stored["not_requester"]),
            context_turns=int(stored.get("context_turns", 0)),
            approved_by=tuple(stored.get("approved_by", ())),
        )


@dataclass(frozen=True, slots=True)
class ApprovalCase:
    """Request that somebody wants to read or answer.

    Attributes:
        owner: owner of its session; None if the session is not known.
        terms: what a policy requires; None without a policy.
    """

    owner: SessionOwner | None
    terms: ApprovalTerms | None = None


def user_key(user_id: str) -> str:
    """Return what identifies a person in a count: spellings of one name are one person."""
    return unicodedata.normalize("NFKC", user_id).strip().casefold()


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
