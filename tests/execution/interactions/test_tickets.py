"""Tickets through the gate: opened within bounds, answered by operators, waited for or not."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import orjson
import pytest

from app.config.settings import Settings
from app.core.errors import Conflict, NotFound, VersionMismatch
from app.execution.calls import CallRequest
from app.execution.context import Caller
from app.execution.interactions.ticket_rows import PER_SESSION, TicketFilter
from app.execution.interactions.tickets import ResolvedTicket
from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab, open_lab


async def resolve(
    house: Lab,
    ticket_id: str,
    status: Literal["answered", "closed"] = "answered",
    answer: str | None = "Pay it",
    *,
    expected: int | None = None,
) -> ResolvedTicket:
    return await house.runtime.tickets.resolve(
        ticket_id, status, answer, actor="boss", expected=expected, log=house.session.log
    )


def waiting(house: Lab, **arguments: Any) -> asyncio.Task[CallOutcome]:
    wanted = {"reason": "Pay?", "blocking": True, **arguments}
    return asyncio.create_task(house.call("escalate", **wanted))


@pytest.mark.requirement("INT-01")
async def test_a_ticket_is_listed_and_announced_and_the_call_goes_on(house: Lab):
    outcome = await house.call(
        "escalate", reason="Pay twice?", severity="high", context="Invoice 20"
    )
    data = outcome.result.data
    assert (outcome.status, data["status"], data["answer"]) == ("success", "open", None)
    (ticket,) = await house.runtime.tickets.page(TicketFilter(), limit=10, before=None)
    assert (ticket.id, ticket.reason, ticket.severity) == (data["ticket_id"], "Pay twice?", "high")
    assert (ticket.context, ticket.status, ticket.version) == ("Invoice 20", "open", 1)
    assert house.watcher.about("c1") == [
        "tool_call_started",
        "ticket_opened",
        "tool_call_completed",
    ]
    resolved = await resolve(house, ticket.id)
    assert (resolved.ticket.status, resolved.ticket.version) == ("answered", 2)
    assert "Pay twice?" in str(resolved.message)
    assert "Pay it" in str(resolved.message)
    reported = await house.watcher.until("ticket_resolved")
    assert (reported["status"], reported["answer"], reported["by"]) == (
        "answered",
        "Pay it",
        "boss",
    )
    rows = await house.rows(
        "SELECT kind, actor, detail FROM audit WHERE kind LIKE 'ticket.%' ORDER BY seq"
    )
    assert [row[:2] for row in rows] == [("ticket.opened", "ann"), ("ticket.answered", "boss")]
    changed = orjson.loads(rows[1][2])
    assert changed["before"]["status"] == "open"
    assert changed["after"]["answer"] == "Pay it"


@pytest.mark.parametrize(("status", "answer"), [("answered", "Pay it"), ("closed", None)])
async def test_a_call_that_waits_gets_what_the_operator_said(
    house: Lab, status: Literal["answered", "closed"], answer: str | None
):
    call = waiting(house)
    opened = await house.watcher.until("ticket_opened")
    assert opened["blocking"]
    resolved = await resolve(house, opened["ticket_id"], status, answer)
    assert resolved.message is None
    data = (await call).result.data
    assert (data["status"], data["answer"], data["timed_out"]) == (status, answer, False)
    assert house.watcher.about("c1")[-2:] == ["ticket_resolved", "tool_call_completed"]


async def test_no_operator_answers_in_time_and_the_ticket_stays_open(settings: Settings):
    changed = settings.model_copy(update={"question_ttl_s": 0.05})
    async with open_lab(changed) as house:
        outcome = await waiting(house)
        data = outcome.result.data
        assert (data["status"], data["timed_out"]) == ("open", True)
        assert (await resolve(house, data["ticket_id"])).message is not None


async def test_a_cancelled_call_leaves_its_ticket_open(house: Lab):
    call = waiting(house)
    opened = await house.watcher.until("ticket_opened")
    house.runtime.executor.cancel(house.session.id, "c1")
    assert (await call).status == "cancelled"
    assert (await house.runtime.tickets.get(opened["ticket_id"])).status == "open"
    assert (await resolve(house, opened["ticket_id"])).message is not None


@pytest.mark.parametrize(
    ("caller", "reported"),
    [
        ("agent", "has answered your ticket"),
        ("subagent", "has answered a ticket of your sub-agent"),
        ("rest", None),
    ],
)
async def test_who_hears_an_answer_that_no_call_waits_for(
    house: Lab, caller: Caller, reported: str | None
):
    request = CallRequest("c1", "escalate", {"reason": "Pay?"})
    (outcome,) = await house.run(request, caller=caller)
    message = (await resolve(house, outcome.result.data["ticket_id"])).message
    assert (message is None) == (reported is None)
    assert (reported or "") in (message or "")
    assert message is None or "Pay it" in message


async def test_one_reason_makes_one_ticket_in_a_run(house: Lab):
    first, again, other = await house.run(
        CallRequest("a", "escalate", {"reason": "Pay  this?"}),
        CallRequest("b", "escalate", {"reason": "pay this?", "blocking": True}),
        CallRequest("c", "escalate", {"reason": "Pay that?"}),
        run_id=None,
        workers=1,
    )
    assert again.result.data["ticket_id"] == first.result.data["ticket_id"]
    assert again.result.data["duplicate"] is True
    assert other.result.data["duplicate"] is False
    assert len(await house.rows("SELECT id FROM tickets")) == 2


async def test_an_agent_cannot_flood_operators(house: Lab):
    for number in range(PER_SESSION):
        outcome = await house.call("escalate", f"c{number}", reason=f"{number}?")
        assert outcome.success
    refused = await house.call("escalate", "last", reason="one more?")
    assert (refused.status, refused.result.code) == ("error", "rate_limited")
    assert len(await house.rows("SELECT id FROM tickets")) == PER_SESSION


@pytest.mark.parametrize("addressee", ["supervisor_agent", "model_tier"])
async def test_who_needs_a_service_cannot_be_reached_without_one(house: Lab, addressee: str):
    outcome = await house.call("escalate", reason="Pay?", to=addressee)
    assert (outcome.status, outcome.result.code) == ("error", "addressee_unavailable")
    assert addressee in str(outcome.result.error)
    assert await house.rows("SELECT id FROM tickets") == []


async def test_a_ticket_is_answered_once_and_only_as_it_was_read(house: Lab):
    data = (await house.call("escalate", reason="Pay?")).result.data
    with pytest.raises(VersionMismatch):
        await resolve(house, data["ticket_id"], expected=7)
    answers = await asyncio.gather(
        *(resolve(house, data["ticket_id"], expected=1) for _ in range(2)), return_exceptions=True
    )
    assert sum(isinstance(answer, ResolvedTicket) for answer in answers) == 1
    assert sum(isinstance(answer, VersionMismatch) for answer in answers) == 1
    with pytest.raises(Conflict):
        await resolve(house, data["ticket_id"], "closed", None)
    with pytest.raises(NotFound):
        await resolve(house, "tkt_none")


async def test_a_terminal_cannot_wait_for_an_operator(house: Lab):
    (outcome,) = await house.run(
        CallRequest("c1", "escalate", {"reason": "Pay?", "blocking": True}), caller="cli"
    )
    assert (outcome.status, outcome.result.code) == ("error", "unattended")


async def test_what_an_operator_reads_holds_no_secrets(house: Lab):
    key = "sk-ant-api03-" + "A1b2C3d4" * 11
    await house.call("escalate", reason=f"May I use {key}?", context=f"It is {key}")
    (ticket,) = await house.runtime.tickets.page(TicketFilter(), limit=10, before=None)
    assert key not in ticket.reason + ticket.context
    assert key not in orjson.dumps(house.watcher.events).decode()


async def test_tickets_are_found_by_what_they_are_page_by_page(house: Lab):
    for number in range(3):
        severity = "high" if number == 1 else "low"
        await house.call("escalate", f"c{number}", reason=f"{number}?", severity=severity)
    tickets = house.runtime.tickets
    (high,) = await tickets.page(TicketFilter(severity="high"), limit=10, before=None)
    assert high.reason == "1?"
    await resolve(house, high.id, "closed", None)
    still = await tickets.page(TicketFilter(status="open"), limit=10, before=None)
    assert {ticket.reason for ticket in still} == {"0?", "2?"}
    assert await tickets.page(TicketFilter(session_id="ses_other"), limit=10, before=None) == []
    seen: list[str] = []
    before = None
    while page := await tickets.page(TicketFilter(), limit=2, before=before):
        seen += [ticket.id for ticket in page]
        before = page[-1].id
    assert len(seen) == len(set(seen)) == 3
