"""What an agent escalates reaches its supervisor or a stronger model, within bounds, or nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from app.agents.loop import ModelOverride
from app.bootstrap.agents import agent_parts
from app.bootstrap.delegation import escalating
from app.config.sections import ModelPrice
from app.config.settings import Settings
from app.execution.calls import CallRequest
from app.execution.interactions.ticket_rows import StoredTicket, TicketFilter
from app.governance.agents import AgentProfile, SubagentLimits
from tests.agents.delegation.department import Department, open_department
from tests.agents.office import Office, open_office
from tests.execution.conftest import settings, template
from tests.support.scripted_anthropic.turns import Gate, Turn, http_error, text, tool_use

__all__ = ["settings", "template"]

STRONGER = "claude-opus-9"
GOAL = "An agent asks you to decide (severity: high):"


def set_up(settings: Settings, **escalation: Any) -> Settings:
    chosen = settings.escalation.model_copy(update=escalation)
    known = {"max_visible_tools": 1000, "anthropic_api_key": SecretStr("a-key")}
    return settings.model_copy(update={**known, "escalation": chosen})


@asynccontextmanager
async def supervised(settings: Settings, **escalation: Any) -> AsyncIterator[Department]:
    """A department whose agents find its delegator when they escalate."""
    async with open_department(set_up(settings, **escalation)) as department:
        service = department.office.service
        parts = agent_parts(service.runtime)
        async with escalating(
            *(service.runtime, parts, service.sessions, service.runs, department.delegation)
        ):
            yield department
        await department.delegation.close()


async def make_boss(department: Department, **fields: Any) -> None:
    await department.office.runtime.agents.create(AgentProfile(id="boss", **fields), actor="ann")


def up(**arguments: Any) -> Turn:
    wanted = {"reason": "Pay twice?", "severity": "high", "to": "supervisor_agent", **arguments}
    return Turn(tool_use("escalate", wanted))


def heard(department: Department, request: int, said: str = "hello") -> str:
    """The result of the call before a request of the model, from 0."""
    return orjson.dumps(department.goals.asked[said][request].messages[-1]["content"]).decode()


def refused(office: Office) -> list[str]:
    """The codes of the calls that have failed."""
    ended = office.watcher.of("tool_call_completed")
    return [event["error"]["code"] for event in ended if event.get("error")]


async def tickets(department: Department) -> list[StoredTicket]:
    return await department.office.runtime.tickets.page(TicketFilter(), limit=10, before=None)


async def audited(office: Office, kind: str) -> list[tuple[str, dict[str, Any]]]:
    sql = "SELECT subject, detail FROM audit WHERE kind = ?"
    rows = await office.runtime.db.transact(lambda t: t.fetch(sql, (kind,)))
    return [(row[0], orjson.loads(row[1])) for row in rows]


@pytest.mark.requirement("INT-01")
async def test_a_supervisor_decides_as_a_sub_agent_and_its_answer_is_the_result(
    settings: Settings,
):
    async with supervised(settings, supervisor="boss") as department:
        await make_boss(department, model="m-boss")
        department.goals.script("hello", up(context="Order 17"))
        department.goals.script(GOAL, Turn(text("Pay once.")))
        assert (await department.office.ask("hello"))["status"] == "success"
        (asked,) = department.goals.asked[GOAL]
        reported = asked.messages[0]["content"][0]["text"]
        assert ("Pay twice?" in reported, "Order 17" in reported) == (True, True)
        assert asked.body["model"] == "m-boss"
        assert "You supervise the agent that escalates" in str(asked.body["system"])
        assert "The supervisor boss decided:\\nPay once." in heard(department, 1)
        assert await tickets(department) == []
        assert len(department.office.watcher.of("subagent_started")) == 1
        ((subject, detail),) = await audited(department.office, "escalation.asked")
        assert (subject, detail["reason"], detail["ticket"]) == ("agent:boss", "Pay twice?", False)


@pytest.mark.requirement("INT-01")
async def test_the_answer_of_a_supervisor_answers_the_ticket_and_becomes_a_message(
    settings: Settings,
):
    async with supervised(settings, supervisor="boss") as department:
        await make_boss(department)
        gate = Gate()
        department.goals.script("hello", up(as_ticket=True))
        department.goals.script(GOAL, Turn(gate, text("Pay once.")))
        assert (await department.office.ask("hello"))["status"] == "success"
        (ticket,) = await tickets(department)
        assert (ticket.status, ticket.to) == ("open", "supervisor_agent")
        gate.open()
        reported = await department.office.watcher.until("ticket_resolved")
        assert (reported["answer"], reported["by"]) == ("Pay once.", "agent:boss")
        await department.office.watcher.until("run_finished", 2)
        said = heard(department, -1)
        assert "Your supervisor boss has answered your ticket" in said
        assert "Pay once." in said


async def test_a_ticket_stays_open_for_people_when_the_supervisor_fails(settings: Settings):
    async with supervised(settings, supervisor="boss") as department:
        await make_boss(department)
        department.goals.script("hello", up(as_ticket=True))
        department.goals.script(GOAL, http_error(400, "invalid_request_error", "no"))
        await department.office.ask("hello")
        await department.office.watcher.until("subagent_finished")
        (ticket,) = await tickets(department)
        assert ticket.status == "open"


async def test_a_supervisor_that_fails_is_reported_as_a_failure(settings: Settings):
    async with supervised(settings, supervisor="boss") as department:
        await make_boss(department)
        department.goals.script("hello", up())
        department.goals.script(GOAL, http_error(400, "invalid_request_error", "no"))
        await department.office.ask("hello")
        assert "did not answer" in heard(department, 1)


async def test_a_run_asks_its_supervisor_only_so_often_also_all_at_once(settings: Settings):
    async with supervised(settings, supervisor="boss", per_run=2) as department:
        await make_boss(department)
        calls = [
            tool_use("escalate", {"reason": f"{number}?", "to": "supervisor_agent"})
            for number in range(4)
        ]
        department.goals.script("hello", Turn(*calls))
        await department.office.ask("hello")
        assert heard(department, 1).count("has already been escalated 2 of 2 times") == 2
        assert len(department.office.watcher.of("subagent_started")) == 2


async def test_the_profile_names_another_supervisor_than_the_settings(settings: Settings):
    async with supervised(settings, supervisor="boss") as department:
        office = department.office
        for agent in (
            AgentProfile(id="lead", model="m-lead"),
            AgentProfile(id="default", supervisor="lead"),
        ):
            await office.runtime.agents.create(agent, actor="ann")
        department.goals.script("hello", up())
        await office.ask("hello")
        assert department.goals.asked[GOAL][0].body["model"] == "m-lead"


@pytest.mark.parametrize(
    ("escalation", "to", "words"),
    [
        ({}, "supervisor_agent", "TOLLGATE_ESCALATION__SUPERVISOR"),
        ({"supervisor": "nobody"}, "supervisor_agent", "does not exist"),
        ({}, "model_tier", "TOLLGATE_ESCALATION__STRONGER_MODEL"),
        ({"stronger_model": "openai:gpt-9"}, "model_tier", "has no key"),
    ],
)
async def test_who_is_not_set_up_cannot_be_reached(
    settings: Settings, escalation: dict[str, Any], to: str, words: str
):
    async with supervised(settings, **escalation) as department:
        department.goals.script("hello", up(to=to))
        await department.office.ask("hello")
        assert words in heard(department, 1)
        assert refused(department.office) == ["addressee_unavailable"]
        assert department.office.watcher.of("subagent_started") == []


async def test_nobody_supervises_itself(settings: Settings):
    async with supervised(settings, supervisor="boss") as department:
        await make_boss(department)
        department.goals.script("hello", up())
        await department.office.ask("hello", agent_id="boss")
        assert "is this agent itself" in heard(department, 1)


async def test_a_supervisor_may_do_no_more_than_a_sub_agent_of_who_asks(settings: Settings):
    async with supervised(settings, supervisor="boss") as department:
        office = department.office
        await make_boss(department)
        limits = SubagentLimits(read_only=True, max_iterations=2)
        await office.runtime.agents.create(
            AgentProfile(id="default", subagents=limits), actor="ann"
        )
        department.goals.script("hello", up())
        await office.ask("hello")
        (batch,) = await department.delegation.reports(session_id=office.session.id)
        routes = batch.tasks[0].routes
        assert (batch.kind, routes["write_file"], routes["escalate"]) == (
            "escalation",
            "disabled",
            "disabled",
        )


async def test_a_stronger_model_answers_the_next_requests_and_then_the_runs_own(
    settings: Settings,
):
    chosen = set_up(settings, stronger_model=STRONGER, stronger_requests=2, per_run=1)
    again = {"reason": "Again", "to": "model_tier"}
    turns = (
        Turn(tool_use("escalate", {"reason": "Too hard", "to": "model_tier"})),
        Turn(tool_use("escalate", again)),
        Turn(tool_use("calculator", {"expression": "1 + 1"})),
        Turn(tool_use("escalate", again)),
        Turn(text("Done.")),
    )
    async with open_office(chosen, *turns) as office:
        assert (await office.ask())["status"] == "success"
        models = [(await office.provider.received(n)).body["model"] for n in range(1, 6)]
        own = chosen.model
        assert models == [own, STRONGER, STRONGER, own, own]
        first, repeat = office.watcher.of(
            "tool_call_completed", tool_name="escalate", status="success"
        )
        assert first["raw_result"]["data"]["requests"] == 2
        assert repeat["raw_result"]["data"] == {
            "to": "model_tier",
            "model": STRONGER,
            "requests": 1,
            "duplicate": True,
        }
        assert refused(office) == ["rate_limited"]
        ((subject, detail),) = await audited(office, "escalation.handed_over")
        assert (subject, detail["from"], detail["requests"]) == (f"model:{STRONGER}", own, 2)


async def test_a_model_without_a_price_is_not_asked_where_cost_is_limited(settings: Settings):
    chosen = set_up(settings, stronger_model=STRONGER)
    limits = chosen.limits.model_copy(update={"cost_per_session": 1.0})
    prices = {chosen.model: ModelPrice(input=1, output=1)}
    chosen = chosen.model_copy(update={"limits": limits, "model_prices": prices})
    async with open_office(chosen, up(to="model_tier"), Turn(text("Done."))) as office:
        assert (await office.ask())["status"] == "success"
        assert refused(office) == ["addressee_unavailable"]


async def test_a_direct_call_has_no_model_that_could_be_another(settings: Settings):
    async with open_office(set_up(settings, stronger_model=STRONGER)) as office:
        await office.call(CallRequest("c1", "escalate", {"reason": "Hm", "to": "model_tier"}))
        assert refused(office) == ["addressee_unavailable"]


def test_how_a_run_was_handed_over_survives_its_process():
    tier = ModelOverride()
    tier.raise_to(STRONGER, 2)
    tier.spend("another")
    tier.spend(STRONGER)
    kept = ModelOverride.of(orjson.loads(orjson.dumps(tier.fields())))
    assert (kept.current, kept.left, kept.times) == (STRONGER, 1, 1)
    kept.spend(STRONGER)
    assert kept.current is None
    assert ModelOverride.of({}) == ModelOverride()


@pytest.mark.parametrize("arguments", [{"blocking": True}, {"to": "model_tier", "as_ticket": True}])
async def test_arguments_that_do_not_fit_the_addressee_are_refused(
    settings: Settings, arguments: dict[str, Any]
):
    async with supervised(settings, supervisor="boss", stronger_model=STRONGER) as department:
        await make_boss(department)
        department.goals.script("hello", up(**arguments))
        await department.office.ask("hello")
        assert refused(department.office) == ["invalid_arguments"]
