"""Rules that agents request for refused calls: no wider than the call, and decided by people."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.rule_requests import REQUEST_RULE
from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.execution.outcome import CallOutcome
from tests.support.answered_calls import Answered, record
from tests.support.brisk import brisk_services
from tests.support.service import Running, serving, settings_for

pytestmark = pytest.mark.requirement("FTG-7")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    with brisk_services():
        async with serving(settings_for(tmp_path, anthropic_api_key=None)) as found:
            yield found


async def requested(running: Running, session: Any, call_id: str, **more: Any) -> CallOutcome:
    """The outcome of `request_rule` as an agent's call."""
    arguments = {"tool_call_id": call_id, "reason": "These logs are rotated every hour", **more}
    context = CallContext(log=session.log, user_id="ann", caller="agent")
    (outcome,) = await running.service.executor.run(
        [CallRequest("c1", REQUEST_RULE, arguments)], context
    )
    return outcome


async def refused(running: Running, session: Any, command: str, answer: str = "declined") -> str:
    """Record a refused call; the ID that its caller gave it."""
    await running.service.db.flush()
    (operation_id,) = await record(running, session.id, [Answered(command, answer)])
    return f"call_{int(operation_id[3:])}"


async def test_a_request_stores_a_proposal_for_exactly_the_call(running: Running):
    session = running.session()
    call_id = await refused(running, session, "rm var/log/worker.log.3")

    outcome = await requested(running, session, call_id)

    assert outcome.status == "success", outcome.text
    (proposal,) = await running.service.proposals.all()
    assert outcome.result.data["proposal_id"] == proposal.id
    assert outcome.result.data["covers"] == "rm var/log/worker.log.3"
    assert proposal.body["match"]["argv"] == ["rm", "var/log/worker.log.3"]
    assert (proposal.state, proposal.kind) == ("open", "allow")
    assert proposal.reason == "These logs are rotated every hour"
    assert proposal.proof["holds"] is True
    # The tool itself changes no decision.
    assert running.service.rule_sets.current().rules == ()
    asked = running.service.decision_preview.of(
        "bash", {"command": "rm var/log/worker.log.3"}, project_id="default"
    )
    assert asked["verdict"] == "ask"

    accepted = await running.service.proposals.accept(proposal.id, actor="ann")

    assert accepted.state == "accepted"
    allowed = running.service.decision_preview.of(
        "bash", {"command": "rm var/log/worker.log.3"}, project_id="default"
    )
    assert allowed["verdict"] == "allow"


@pytest.mark.parametrize(
    "match",
    [
        {"argv": ["rm", "..."]},
        {"argv": ["rm", "var/log/*"]},
        {"argv": ["rm", {"type": "path", "begins": "var/log/"}]},
        {"argv": ["rm", "var/log/other.log"]},
        {"paths": ["/**"]},
        {"argv": None},
        {"command": ["rm"], "argv": None},
        {"nonsense": 1},
    ],
)
async def test_a_wider_rule_is_refused(running: Running, match: dict[str, Any]):
    session = running.session()
    call_id = await refused(running, session, "rm var/log/worker.log.3")

    outcome = await requested(running, session, call_id, match=match)

    assert outcome.result.code == "wider_than_call"
    assert await running.service.proposals.all() == []


async def test_exactly_the_call_may_be_named(running: Running):
    session = running.session()
    call_id = await refused(running, session, "rm var/log/worker.log.3")

    named = {"argv": ["rm", "var/log/worker.log.3"]}
    outcome = await requested(running, session, call_id, match=named)

    assert outcome.status == "success", outcome.text


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("rm -rf build", "risk is high"),
        ("rm $(cat list)", "cannot be read"),
        ("rm -rf /", "regardless of rules"),
        ("rm «redacted»", "masked"),
        ("rm a.log && rm b.log", "several commands"),
    ],
)
async def test_some_calls_cannot_have_a_rule(running: Running, command: str, why: str):
    session = running.session()
    call_id = await refused(running, session, command)

    outcome = await requested(running, session, call_id)

    assert outcome.result.code == "rule_not_possible"
    assert why in outcome.text
    assert await running.service.proposals.all() == []


async def test_what_people_declined_before_cannot_be_requested(running: Running):
    session = running.session()
    await refused(running, session, "rm var/log/worker.log.3")
    call_id = await refused(running, session, "rm var/log/worker.log.3")

    outcome = await requested(running, session, call_id)

    assert outcome.result.code == "rule_not_possible"
    assert "declined" in outcome.text


async def test_only_refused_calls_of_the_session_have_an_id(running: Running):
    session, other = running.session(), running.session()
    foreign = await refused(running, other, "rm var/log/worker.log.3")
    ran = await refused(running, session, "rm var/log/worker.log.3", answer="approved")

    assert (await requested(running, session, foreign)).result.code == "call_not_refused"
    assert (await requested(running, session, ran)).result.code == "call_not_refused"


async def test_the_same_request_is_not_stored_twice_and_a_session_has_a_limit(running: Running):
    session = running.session()
    first = await refused(running, session, "rm var/log/1.log")
    await requested(running, session, first)

    again = await requested(running, session, first)
    assert again.result.data["duplicate"] is True
    for number in range(2, 6):
        call_id = await refused(running, session, f"rm var/log/{number}.log")
        assert (await requested(running, session, call_id)).status == "success"
    last = await refused(running, session, "rm var/log/9.log")

    outcome = await requested(running, session, last)

    assert outcome.result.code == "rate_limited"
    assert len(await running.service.proposals.all()) == 5


async def test_a_rule_that_denies_the_call_is_named(running: Running):
    session = running.session()
    denied = await running.service.rules.create(
        {
            "tool": "bash",
            "match": {"argv": ["rm", "..."]},
            "decision": "deny",
            "justification": "Nothing is deleted here.",
        },
        actor="ann",
    )
    context = CallContext(
        log=session.log, user_id="ann", project=running.service.projects.get("default")
    )
    call = CallRequest("c7", "bash", {"command": "rm var/log/1.log"})
    (outcome,) = await running.service.executor.run([call], context)
    assert 'use request_rule with tool_call_id "c7"' in outcome.text
    assert "request_rule" not in (outcome.result.error or "")

    asked = await requested(running, session, "c7")

    assert denied.id in asked.result.data["overridden_by"]
    (proposal,) = await running.service.proposals.all()
    assert denied.id in proposal.proof["overridden_by"]
