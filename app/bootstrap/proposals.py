"""Composition of proposed rules: computed in the background, requested by agents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from app.agents.database_queries import DatabaseQueries
from app.agents.rule_proposals.rows import ProposalRows
from app.agents.rule_proposals.service import ProposalSources, RuleProposals
from app.bootstrap.container import Runtime
from app.core.background import background
from app.domain.rule_requests import RULE_REQUESTS


@asynccontextmanager
async def proposing(runtime: Runtime, reading: DatabaseQueries) -> AsyncIterator[RuleProposals]:
    """Provide proposals of rules while the service runs, and the tool that requests one."""
    from app.agents.rule_proposals.requests import AgentRuleRequests

    settings = runtime.settings.proposals
    sources = ProposalSources(
        *(reading, runtime.registry, runtime.resolver, runtime.projects),
        *(runtime.rules, runtime.rule_sets, runtime.metrics, settings.replayed_calls),
    )
    rows = ProposalRows(runtime.db, runtime.audit)
    proposals = RuleProposals(rows, runtime.clock, sources)
    requests = AgentRuleRequests(proposals, sources, runtime.db, runtime.clock, runtime.redactor)
    runtime.services.register(RULE_REQUESTS, requests)
    runtime.resolver.forget()
    async with background(proposals.run()) if settings.hourly else nullcontext():
        yield proposals
