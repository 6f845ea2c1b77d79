"""Requests of agents for rules: no wider than one refused call, decided by people."""

from __future__ import annotations

import orjson

from app.agents.rule_proposals.rows import requests_of
from app.agents.rule_proposals.service import ProposalSources, RuleProposals
from app.core.clock import Clock
from app.core.errors import InvalidInput, ProofOutdated, RateLimited, ToolFailed
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter
from app.domain.rule_requests import RuleRequest, RuleRequestState
from app.policy.proposals.bodies import Draft, described
from app.policy.proposals.exact import NoSuchRule, exact_draft
from app.policy.proposals.history import AnsweredCall
from app.policy.rules.compile import read_definition
from app.policy.rules.review import includes
from app.toolkit.context import ToolContext

MAX_PER_SESSION = 5
_REFUSED = ("declined", "denied", "expired")


class AgentRuleRequests:
    """Implements the service `RULE_REQUESTS`."""

    def __init__(
        self,
        proposals: RuleProposals,
        sources: ProposalSources,
        db: DatabaseWriter,
        clock: Clock,
        redactor: Redactor,
    ) -> None:
        self._proposals = proposals
        self._sources = sources
        self._db = db
        self._clock = clock
        self._redactor = redactor

    async def request(self, wanted: RuleRequest, ctx: ToolContext) -> RuleRequestState:
        """See the Protocol."""
        session_id = ctx.session_id or ""
        stored = await self._proposals.all()
        if len(requests_of(stored, session_id)) >= MAX_PER_SESSION:
            raise RateLimited(
                f"This session has already requested {MAX_PER_SESSION} rules; "
                "continue without another one"
            )
        item = await self._refused_call(wanted.call_id, ctx)
        try:
            draft = exact_draft(item, self._clock.time())
        except NoSuchRule as error:
            raise ToolFailed(error.message, code=error.code) from None
        _check_width(wanted, draft)
        known = {proposal.id for proposal in stored}
        requested_by = {
            "agent_id": item.agent,
            "session_id": session_id,
            "operation_id": item.operation_id,
        }
        try:
            proposal = await self._proposals.propose(
                draft,
                reason=self._redactor.text(wanted.reason),
                requested_by=requested_by,
                actor=ctx.user_id or "system",
            )
        except ProofOutdated as error:
            raise ToolFailed(error.message, code=NoSuchRule.code) from None
        return RuleRequestState(
            proposal.id,
            proposal.state,
            described(proposal.body),
            tuple(proposal.proof.get("overridden_by", ())),
            is_duplicate=proposal.id in known,
        )

    async def _refused_call(self, call_id: str, ctx: ToolContext) -> AnsweredCall:
        """Return the newest refused call of the session with the ID.

        Raises:
            ToolFailed: there is none.
        """
        # The query toolkit is loaded on first use.
        from app.agents.rule_proposals.recorded_calls import read_refused, recorded

        await self._db.flush()
        sources = self._sources
        records = await read_refused(
            *(sources.reading.database, sources.registry.snapshot()),
            *(sources.resolver, sources.projects),
            session_id=ctx.session_id or "",
            call_id=call_id,
        )
        found, _ = recorded(records)
        if not found:
            raise ToolFailed(
                f"No refused call {call_id!r} in this session; use the ID that its result names",
                code="call_not_refused",
            )
        return found[0]


def _check_width(wanted: RuleRequest, draft: Draft) -> None:
    """Refuse conditions that cover more than the call.

    Raises:
        ToolFailed: `wider_than_call`, with what a rule may at most say.
    """
    if wanted.match is None:
        return
    exact = read_definition(draft.body)
    try:
        asked = read_definition({**draft.body, "match": {**draft.body["match"], **wanted.match}})
    except InvalidInput as error:
        raise ToolFailed(f"match is invalid: {error.message}", code="wider_than_call") from None
    if not includes(exact, asked):
        at_most = orjson.dumps(draft.body["match"]).decode()
        raise ToolFailed(
            f"match covers more than the refused call; omit it, or use at most {at_most}",
            code="wider_than_call",
        )
