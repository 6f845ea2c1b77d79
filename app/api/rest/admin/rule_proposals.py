"""Proposed rules with their proof: listed, computed, accepted and dismissed."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.rule_proposals.rows import StoredProposal
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import start_after
from app.api.rest.body import PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyFinished, Conflict, NotFound, ProofOutdated
from app.policy.proposals.bodies import described
from app.policy.proposals.history import Ending
from app.policy.proposals.texts import summary_of, title_of

router = routes_of("admin", below="/admin")

Kind = Literal["allow", "deny", "remove"]
State = Literal["open", "accepted", "dismissed", "stale"]
_CALL: dict[str, Any] = {
    "operation_id": "op_7f3a9c000001",
    "tool_name": "bash",
    "arguments": {"command": "rm tmp/run-12.log"},
    "agent_id": "coder",
    "at": MOMENT,
    "ending": "approved",
}
_PROOF: dict[str, Any] = {
    "holds": True,
    "problems": [],
    "judged": 1200,
    "not_judged": 3,
    "unknowable": 8,
    "questions": 6,
    "let_through_total": 6,
    "let_through": [_CALL],
    "refused_total": 0,
    "refused": [],
    "declined_elsewhere": 0,
    "newly_asked": 0,
    "newly_denied": 0,
    "newly_denied_approved": 0,
    "newly_denied_calls": [],
    "corpus_judged": 16546,
    "corpus_changed_total": 0,
    "corpus_changed": [],
    "overridden_by": [],
}
_SUMMARY: dict[str, Any] = {
    "id": "rpr_1",
    "kind": "allow",
    "state": "open",
    "title": "Allow `rm tmp/run-<number>.log` below /srv/shop for the agent coder until 2027-02-16",
    "summary": "Of the newest 1200 calls, 6 questions would not have been asked, and 6 calls "
    "would have run without one.",
    "covers": "rm tmp/run-<number>.log",
    "why": "Approved 6 times on 3 days by ann (6); never declined.",
    "reason": "",
    "requested_by": None,
    "rule_id": None,
    "created_at": MOMENT,
    "proven_at": MOMENT,
    "decided_by": None,
    "decided_at": None,
    "version": 1,
}
_DEFINITION: dict[str, Any] = {
    "tool": "bash",
    "match": {
        "argv": ["rm", {"type": "number", "begins": "tmp/run-", "ends": ".log"}],
        "paths": ["/srv/shop/**"],
    },
    "decision": "allow",
    "scope": "agent:coder",
    "expires_at": MOMENT,
}


class ProvenCall(BaseModel):
    """A recorded call that the rule would decide differently."""

    model_config = example(**_CALL)

    operation_id: str
    tool_name: str
    arguments: dict[str, Any] = Field(description="As recorded, with secrets masked.")
    agent_id: str
    at: str
    ending: Ending = Field(description="What became of it; `unattended`: nobody was there to ask.")


class CorpusChange(BaseModel):
    """A case of the risk corpus that the rule would decide differently."""

    model_config = example(command="rm -rf /", before="deny", after="allow")

    command: str
    before: str
    after: str


class ProofView(BaseModel):
    """The newest calls and the risk corpus, decided with and without the rule."""

    model_config = example(**_PROOF)

    holds: bool = Field(description="Whether the proposal may be accepted.")
    problems: list[str] = Field(description="Why it does not hold.")
    judged: int = Field(description="Number of recorded calls that were decided twice.")
    not_judged: int = Field(description="Calls whose tool or arguments no longer fit.")
    unknowable: int = Field(
        description="Calls that prove nothing: masked arguments, or decided by more than recorded."
    )
    matched: int = Field(default=0, description="Calls with another verdict.")
    questions: int = Field(description="Questions to people that would not have been asked.")
    let_through_total: int = Field(description="Calls that would have run without a question.")
    let_through: list[ProvenCall] = Field(description="The newest fifty of them.")
    refused_total: int = Field(
        description="Declined or denied calls that would have run; 0 in a proof that holds."
    )
    refused: list[ProvenCall]
    declined_elsewhere: int = Field(
        description="Calls of the same words that people declined for other agents or in other "
        "projects; 0 in a proof that holds."
    )
    newly_asked: int = Field(description="Calls that would have required confirmation as well.")
    newly_denied: int = Field(description="Calls that would have been denied.")
    newly_denied_approved: int = Field(
        description="Calls that ran or were approved and would be denied; 0 in a proof that holds."
    )
    newly_denied_calls: list[ProvenCall]
    corpus_judged: int
    corpus_changed_total: int = Field(description="0 in a proof that holds.")
    corpus_changed: list[CorpusChange]
    overridden_by: list[str] = Field(
        description="Rules that refuse the requested call nevertheless; change them first."
    )


class ProposalSummary(BaseModel):
    """A proposed change of the rules."""

    model_config = example(**_SUMMARY)

    id: str
    kind: Kind
    state: State = Field(description="`stale`: the proof does not hold any more; it was withdrawn.")
    title: str = Field(description="What accepting it changes.")
    summary: str = Field(description="What the proof shows.")
    covers: str = Field(description="The calls that the rule is about.")
    why: str = Field(description="Where it comes from.")
    reason: str = Field(description="Reason of the agent that requested it: do not trust it.")
    requested_by: dict[str, Any] | None = Field(
        description="Agent, session and operation of a requested one."
    )
    rule_id: str | None = Field(
        description="Rule that it would remove, or that accepting it created or removed."
    )
    created_at: str
    proven_at: str
    decided_by: str | None
    decided_at: str | None
    version: int

    @classmethod
    def of(cls, proposal: StoredProposal) -> Self:
        return cls(**_fields(proposal))


class RuleProposal(ProposalSummary):
    """A proposed change of the rules with its proof and its evidence."""

    model_config = example(
        **_SUMMARY,
        definition=_DEFINITION,
        proof=_PROOF,
        evidence=["op_7f3a9c000001"],
        rules_digest="9f86d081884c7d65",
        history_position="op_7f3a9c000001/2026-11-21T09:30:00.000Z:cfm_1",
    )

    definition: dict[str, Any] = Field(
        description="The rule that accepting it creates or removes, with examples and expiry."
    )
    proof: ProofView
    evidence: list[str] = Field(description="Operation IDs of the calls that speak for it.")
    rules_digest: str = Field(description="Digest of the rules that the proof stands on.")
    history_position: str = Field(
        description="Newest call, and newest answer to one, that the proof has seen."
    )

    @classmethod
    def of(cls, proposal: StoredProposal) -> Self:
        return cls(
            **_fields(proposal),
            definition=proposal.body,
            proof=ProofView(**proposal.proof),
            evidence=proposal.evidence,
            rules_digest=proposal.rules_digest,
            history_position=proposal.history_position,
        )


class ProposalPage(BaseModel):
    """Proposals, newest first."""

    model_config = example(proposals=[_SUMMARY], total=1, next_after=None)

    proposals: list[ProposalSummary]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class RecomputedView(BaseModel):
    """Result of computing the proposals."""

    model_config = example(open=3, added=1, stale=0, calls=1200)

    open: int
    added: int
    stale: int = Field(description="Open proposals that were withdrawn.")
    calls: int = Field(description="Number of newest calls that were looked at.")


@router.get("/rule-proposals", summary="List rule proposals", responses=problems())
async def list_rule_proposals(
    service: ServiceDep,
    principal: Admin,
    state: Annotated[State | None, Query(description="All states if omitted.")] = None,
    kind: Annotated[Kind | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        str | None, Query(max_length=128, description="`next_after` of the previous page.")
    ] = None,
) -> ProposalPage:
    """Scope `admin`. Newest first. They are computed every hour, and on demand.

    422: the proposal `after` no longer exists; list again without it.
    """
    stored = await service.proposals.all()
    start = start_after(after, [item.id for item in stored], "proposal")
    fits = [
        (state is None or item.state == state) and (kind is None or item.kind == kind)
        for item in stored
    ]
    rest = [item for item, fit in zip(stored[start:], fits[start:], strict=True) if fit]
    page = rest[:limit]
    return ProposalPage(
        proposals=[ProposalSummary.of(item) for item in page],
        total=sum(fits),
        next_after=page[-1].id if len(rest) > limit else None,
    )


@router.post("/rule-proposals/recompute", summary="Compute rule proposals", responses=problems())
async def recompute_rule_proposals(service: ServiceDep, principal: Admin) -> RecomputedView:
    """Scope `admin`. Proposes what the newest calls speak for, and withdraws what does not hold.

    Nothing changes until a person accepts a proposal.
    """
    found = await service.proposals.recompute()
    return RecomputedView(open=found.open, added=found.added, stale=found.stale, calls=found.calls)


@router.get(
    "/rule-proposals/{proposal_id}", summary="Get a rule proposal", responses=problems(NotFound)
)
async def get_rule_proposal(
    proposal_id: PathId, service: ServiceDep, principal: Admin
) -> RuleProposal:
    """Scope `admin`. With its proof, and the rule that accepting it creates."""
    return RuleProposal.of(await service.proposals.get(proposal_id))


@router.post(
    "/rule-proposals/{proposal_id}/accept",
    summary="Accept a rule proposal",
    responses=problems(NotFound, AlreadyFinished, ProofOutdated, Conflict),
)
async def accept_rule_proposal(
    proposal_id: PathId, service: ServiceDep, principal: Admin
) -> RuleProposal:
    """Scope `admin`. Proves it once more, then creates or removes the rule.

    409 `proof_outdated`: the newest calls, answers or rules speak against it; it is stale then.
    """
    return RuleProposal.of(await service.proposals.accept(proposal_id, actor=principal.user_id))


@router.post(
    "/rule-proposals/{proposal_id}/dismiss",
    summary="Dismiss a rule proposal",
    responses=problems(NotFound, AlreadyFinished),
)
async def dismiss_rule_proposal(
    proposal_id: PathId, service: ServiceDep, principal: Admin
) -> RuleProposal:
    """Scope `admin`. The same rule is not proposed again."""
    return RuleProposal.of(await service.proposals.dismiss(proposal_id, actor=principal.user_id))


def _fields(proposal: StoredProposal) -> dict[str, Any]:
    same = (
        *("id", "kind", "state", "why", "reason", "requested_by", "rule_id", "created_at"),
        *("proven_at", "decided_by", "decided_at", "version"),
    )
    return {
        **{name: getattr(proposal, name) for name in same},
        "title": title_of(proposal.kind, proposal.body),
        "summary": summary_of(proposal.kind, proposal.proof),
        "covers": described(proposal.body),
    }
