"""What operators choose for a tool holds for the very next call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.governance.agents import AgentProfile, AgentTool
from tests.execution.lab import AnyArgs, Lab, made, open_lab


async def governed(lab: Lab, function: Any, **options: Any) -> None:
    lab.add(made(function, **options))
    await lab.runtime.catalog_sync.settled()


async def test_the_operator_s_deadline_ends_a_call_that_its_tool_would_let_run(lab: Lab):
    async def endless(args: AnyArgs, ctx: Any) -> str:
        await asyncio.Event().wait()
        return ""

    await governed(lab, endless, timeout_s=3600)
    await lab.runtime.governance.change_tool("endless", {"timeout_s": 0.05}, actor="ann")
    assert (await lab.call("endless")).status == "timeout"


async def test_a_command_that_names_no_timeout_has_the_operator_s(settings: Settings):
    usual = settings.sandbox.model_copy(update={"command_timeout_s": 1})
    async with open_lab(settings.model_copy(update={"sandbox": usual})) as lab:
        ended = await lab.call("bash", "b1", command="sleep 3000")
        asked = await lab.call("bash", "b2", command="sleep 2; echo done", timeout=500)
        old = await lab.call("exec", "b3", command="sleep 3001")
    assert (ended.status, ended.result.data["timed_out"]) == ("timeout", True)
    assert asked.result.data["stdout"] == "done\n"
    assert old.status == "timeout"


async def test_the_operator_s_cap_cuts_what_the_model_gets_and_keeps_the_rest(lab: Lab):
    async def wordy(args: AnyArgs, ctx: Any) -> str:
        return "x" * 5000

    await governed(lab, wordy, max_output_chars=100_000)
    assert (await lab.call("wordy", number=1)).truncated is False
    await lab.runtime.governance.change_tool("wordy", {"max_output_chars": 1000}, actor="ann")
    outcome = await lab.call("wordy", number=2)
    assert outcome.truncated is True
    assert outcome.artifact_id is not None
    assert len(outcome.text) < 2000


@pytest.mark.requirement("GOV-06")
async def test_the_same_call_is_refused_for_one_agent_and_asks_for_another(lab: Lab):
    async def note(args: AnyArgs, ctx: Any) -> str:
        return "done"

    await governed(lab, note)
    states: tuple[Any, ...] = ("off", "ask", None)
    for number, state in enumerate(states):
        tools = {"note": AgentTool(state=state)}
        await lab.runtime.agents.create(AgentProfile(id=f"a{number}", tools=tools), actor="ann")
    ended = []
    for number in range(len(states)):
        lab.context["agent_id"] = f"a{number}"
        lab.context["attended"] = False
        outcome = await lab.call("note", number=number)
        ended.append((outcome.status, outcome.result.code))
    assert ended[0] == ("disabled", "disabled_agent")
    assert ended[1][0] == "denied"
    assert ended[2] == ("success", None)


async def test_a_tool_that_is_off_cannot_be_called_by_any_of_its_names(house: Lab):
    await house.runtime.governance.set_enabled("bash", enabled=False)
    for name in ("bash", "exec", "shell", "BashTool"):
        outcome = await house.call(name, command="echo hi")
        assert (outcome.status, outcome.result.code) == ("disabled", "disabled_global")
