"""An agent's profile is what its runs are: model, words, limits, tools."""

from __future__ import annotations

from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import InvalidInput, NotFound
from app.governance.agents import AgentProfile, AgentTool
from tests.agents.office import Office, open_office
from tests.execution.lab import AnyArgs, made
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use

BY: dict[str, Any] = {"actor": "ann"}


async def echo(args: AnyArgs, ctx: Any) -> str:
    return f"echo {args.text}"


async def hire(office: Office, agent_id: str, **fields: Any) -> None:
    await office.runtime.agents.create(AgentProfile(id=agent_id, **fields), **BY)


async def test_a_session_s_agent_is_its_model_its_words_and_its_tools(settings: Settings):
    async with open_office(settings, Turn(text("a")), agent_id="writer") as office:
        await hire(
            office,
            "writer",
            model="other-model",
            system_prompt="You write haiku.",
            max_tokens=77,
            selection=("calculator",),
        )
        assert (await office.ask())["agent_id"] == "writer"
        request = office.provider.requests[0]
        assert (request.body["model"], request.body["max_tokens"]) == ("other-model", 77)
        assert "You write haiku." in str(request.body["system"])
        assert request.tool_names == ["calculator"]
        started = office.watcher.of("run_started")[0]
        assert (started["model"], started["agent_id"]) == ("other-model", "writer")
        assert started["tool_names"] == ["calculator", "search_tools"]
        messages = office.watcher.of("message_completed")
        assert {event["agent_id"] for event in messages} == {"writer"}


async def test_what_the_session_asked_for_beats_its_agent_s_model(settings: Settings):
    async with open_office(settings, Turn(text("a")), agent_id="w", model="mine") as office:
        await hire(office, "w", model="other-model")
        await office.ask()
        assert office.provider.requests[0].body["model"] == "mine"


async def test_an_agent_s_iteration_cap_counts(settings: Settings):
    turns = [Turn(tool_use("echo", {"number": n})) for n in range(3)]
    async with open_office(settings, *turns, agent_id="w") as office:
        office.add(made(echo))
        await hire(office, "w", max_iterations=2)
        assert (await office.ask())["status"] == "max_turns"
        assert len(office.provider.requests) == 2


async def test_a_message_may_be_for_another_agent_for_its_run(settings: Settings):
    async with open_office(settings, Turn(text("a")), Turn(text("b")), agent_id="w") as office:
        await hire(office, "w", system_prompt="First.")
        await hire(office, "other", system_prompt="Second.", model="other-model")
        assert (await office.ask(agent_id="other"))["agent_id"] == "other"
        assert (await office.ask())["agent_id"] == "w"
        first, second = office.provider.requests
        assert ("Second." in str(first.body["system"]), first.body["model"]) == (
            True,
            "other-model",
        )
        assert "First." in str(second.body["system"])
        runs = await office.service.archive.runs(office.session.id)
        assert [run.agent_id for run in runs] == ["w", "other"]


async def test_a_message_for_an_agent_that_does_not_exist_names_those_that_do(settings: Settings):
    async with open_office(settings) as office:
        await hire(office, "writer")
        with pytest.raises(NotFound, match=r"'ghost'.*writer"):
            await office.say(agent_id="ghost")
        assert office.watcher.events == []


async def test_a_message_cannot_steer_the_run_of_another_agent(settings: Settings):
    gate = Gate()
    async with open_office(settings, Turn(text("a", gate)), agent_id="w") as office:
        await hire(office, "w")
        await hire(office, "other")
        run_id = await office.say()
        await gate.reached.wait()
        with pytest.raises(InvalidInput, match="another agent"):
            await office.say("also", when_busy="steer", agent_id="other")
        gate.open()
        assert (await office.ended(run_id))["status"] == "success"


async def test_steering_another_agent_s_run_takes_its_name(settings: Settings):
    gate = Gate()
    turns = [Turn(text("a", gate)), Turn(text("b"))]
    async with open_office(settings, *turns, agent_id="w") as office:
        await hire(office, "w")
        await hire(office, "other")
        run_id = await office.say(agent_id="other")
        await gate.reached.wait()
        with pytest.raises(InvalidInput, match="name that agent"):
            await office.say("also", when_busy="steer")
        assert await office.say("also", when_busy="steer", agent_id="other") == run_id
        gate.open()
        assert (await office.ended(run_id))["status"] == "success"


async def test_an_agent_that_is_removed_ends_its_run_instead_of_going_on_as_nobody(
    settings: Settings,
):
    gate = Gate()
    turns = [Turn(text("a", gate), tool_use("echo", {}, id="t1")), Turn(text("b"))]
    async with open_office(settings, *turns, agent_id="w") as office:
        office.add(made(echo))
        await hire(office, "w", selection=("echo",))
        run_id = await office.say()
        await gate.reached.wait()
        await office.runtime.agents.remove("w", **BY)
        gate.open()
        ended = await office.ended(run_id)
        assert (ended["status"], ended["error"]["code"]) == ("error", "not_found")
        # Refused before the gate, which knows nothing about an agent that does not exist.
        assert office.watcher.of("tool_call_started") == []
        assert office.watcher.of("tool_call_completed") == []


@pytest.mark.requirement("GOV-06", "GOV-15")
async def test_a_running_agent_gets_an_operator_s_change_with_its_next_turn(settings: Settings):
    gate = Gate()
    turns = [
        Turn(text("I look.", gate), tool_use("echo", {"text": "x"}, id="t1")),
        Turn(text("It is off.")),
    ]
    async with open_office(settings, *turns, agent_id="w") as office:
        office.add(made(echo))
        for agent in ("w", "free"):
            await hire(office, agent, max_visible_tools=1000)
        run_id = await office.say()
        await gate.reached.wait()
        await office.runtime.agents.override("w", "echo", AgentTool(state="off"), **BY)
        gate.open()
        assert (await office.ended(run_id))["status"] == "success"
        first, second = office.provider.requests
        assert ("echo" in first.tool_names, "echo" in second.tool_names) == (True, False)
        answer = second.tool_results()["t1"]
        assert "disabled for agent 'w'" in answer["content"][0]["text"]
        assert "echo" in office.runtime.resolver.resolve("free").tool_names


async def test_the_agent_called_default_governs_who_names_none(settings: Settings):
    async with open_office(settings, Turn(text("a")), Turn(text("b"))) as office:
        await office.ask()
        await hire(office, "default", selection=("calculator",), system_prompt="Be brief.")
        assert (await office.ask())["status"] == "success"
        first, second = office.provider.requests
        assert "bash" in first.tool_names
        assert second.tool_names == ["calculator"]
        assert "Be brief." in str(second.body["system"])
