"""Proposals while people keep answering, and in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.agents.rule_proposals import service as proposal_service
from app.core.errors import ProofOutdated
from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.policy.proposals.bodies import Draft
from app.policy.proposals.proof import Proof, ProofInputs, prove
from tests.support.answered_calls import Answered, record
from tests.support.brisk import brisk_services
from tests.support.service import Running, serving, settings_for

LOGS = [Answered(f"rm tmp/run-{at}.log", day=1 + at % 2) for at in (11, 24, 36, 47, 58, 63)]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    with brisk_services():
        async with serving(settings_for(tmp_path, anthropic_api_key=None)) as found:
            yield found


async def proposed(running: Running) -> tuple[str, str]:
    """A session with enough answers, and the proposal that they lead to."""
    session = running.session()
    await running.service.db.flush()
    await record(running, session.id, LOGS)
    await running.service.proposals.recompute()
    (proposal,) = await running.service.proposals.all()
    return session.id, proposal.id


@pytest.mark.parametrize("answer", ["declined", "approved"])
async def test_an_answer_during_the_proof_counts(
    running: Running, monkeypatch: pytest.MonkeyPatch, answer: str
):
    session_id, proposal_id = await proposed(running)
    loop, proofs = asyncio.get_running_loop(), list[Draft]()

    def slow(draft: Draft, given: ProofInputs) -> Proof:
        """Somebody answers while the first proof runs, in its thread."""
        proofs.append(draft)
        if len(proofs) == 1:
            late = record(running, session_id, [Answered("rm tmp/run-70.log", answer, day=9)])
            asyncio.run_coroutine_threadsafe(late, loop).result(60)
        return prove(draft, given)

    monkeypatch.setattr(proposal_service, "prove", slow)
    if answer == "approved":
        # It speaks for the rule: the proof need not be repeated.
        accepted = await running.service.proposals.accept(proposal_id, actor="ann")
        assert (accepted.state, len(proofs)) == ("accepted", 1)
        return
    with pytest.raises(ProofOutdated, match="declined"):
        await running.service.proposals.accept(proposal_id, actor="ann")
    assert len(proofs) == 2
    assert running.service.rule_sets.current().rules == ()


async def test_a_rule_added_during_the_proof_counts(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    _, proposal_id = await proposed(running)
    loop, proofs = asyncio.get_running_loop(), list[Draft]()
    body = {"tool": "bash", "match": {"argv": ["rm", "tmp/*"]}, "decision": "allow"}

    def slow(draft: Draft, given: ProofInputs) -> Proof:
        proofs.append(draft)
        if len(proofs) == 1:
            adding = running.service.rules.create(body, actor="bob")
            asyncio.run_coroutine_threadsafe(adding, loop).result(60)
        return prove(draft, given)

    monkeypatch.setattr(proposal_service, "prove", slow)

    with pytest.raises(ProofOutdated, match="no question"):
        await running.service.proposals.accept(proposal_id, actor="ann")

    assert len(proofs) == 2


async def test_proposals_are_computed_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ready = asyncio.Event()
    recompute = proposal_service.RuleProposals.recompute

    async def watched(self: proposal_service.RuleProposals) -> proposal_service.Recomputed:
        done = await recompute(self)
        if done.calls == len(LOGS):
            ready.set()
        return done

    for name in ("FIRST_S", "EVERY_S"):
        monkeypatch.setattr(proposal_service, name, 0.05)
    monkeypatch.setattr(proposal_service.RuleProposals, "recompute", watched)
    with brisk_services():
        async with serving(settings_for(tmp_path, anthropic_api_key=None)) as running:
            session = running.session()
            await running.service.db.flush()
            await record(running, session.id, LOGS)
            async with asyncio.timeout(60):
                await ready.wait()
            (proposal,) = await running.service.proposals.all()

    assert proposal.state == "open"


async def test_a_call_that_nobody_was_there_to_approve_speaks_for_nothing(running: Running):
    session = running.session()
    context = CallContext(
        log=session.log,
        attended=False,
        project=running.service.projects.get("default"),
    )
    call = CallRequest("c1", "bash", {"command": "rm tmp/run-77.log"})
    (outcome,) = await running.service.executor.run([call], context)
    assert (outcome.status, outcome.result.code) == ("denied", "unattended")
    await running.service.db.flush()
    await record(running, session.id, LOGS)

    await running.service.proposals.recompute()

    (proposal,) = await running.service.proposals.all()
    assert proposal.proof["holds"] is True
    assert (proposal.proof["questions"], proposal.proof["let_through_total"]) == (6, 7)
    endings = {call["ending"] for call in proposal.proof["let_through"]}
    assert endings == {"approved", "unattended"}


async def test_a_call_that_policy_denied_speaks_against_a_rule(running: Running):
    session = running.session()
    await running.service.db.flush()
    await record(running, session.id, [*LOGS, Answered("rm tmp/run-77.log", None)])
    await running.service.db.transact(
        lambda work: work.execute(
            "UPDATE tool_calls SET status = 'denied' WHERE arguments LIKE ?", ("%run-77%",)
        )
    )

    await running.service.proposals.recompute()

    assert await running.service.proposals.all() == []
