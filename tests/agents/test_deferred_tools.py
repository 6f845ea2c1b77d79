"""An agent with many tools is shown some and finds the rest, on the one path of every call."""

from __future__ import annotations

from typing import Any

import pytest

from app.config.settings import Settings
from app.governance.agents import AgentProfile, AgentTool
from app.toolkit.ports import SEARCH_TOOLS
from tests.agents.office import open_office
from tests.execution.lab import AnyArgs, made
from tests.support.scripted_anthropic.turns import Turn, text, tool_use


def tools() -> list[Any]:
    named = {
        "invoice_send": "Send an invoice to a customer.",
        "invoice_list": "List the invoices of a customer.",
        "weather_now": "Tell the weather of a place.",
        "deploy_site": "Put the website online.",
    }
    made_ones = []
    for name, reported in named.items():

        async def act(args: AnyArgs, ctx: Any) -> str:
            return "acted"

        act.__doc__ = reported
        made_ones.append(made(act, name=name, tags=("billing",) if "invoice" in name else ()))
    return made_ones


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"max_visible_tools": 4})


def search(query: str, call_id: str = "s1") -> Any:
    return tool_use(SEARCH_TOOLS, {"query": query}, id=call_id)


@pytest.mark.requirement("D-21")
async def test_a_tool_that_was_searched_for_is_shown_for_the_rest_of_the_run(settings: Settings):
    turns = [
        Turn(search("send an invoice")),
        Turn(tool_use("invoice_send", {}, id="t1")),
        Turn(text("Sent.")),
        Turn(text("Another run.")),
    ]
    async with open_office(settings, *turns) as office:
        office.add(*tools())
        assert (await office.ask())["status"] == "success"
        first, second, third = office.provider.requests
        assert first.tool_names[0] == SEARCH_TOOLS
        assert "invoice_send" not in first.tool_names
        assert "are not listed" in str(first.body["system"])
        assert second.tool_names[: len(first.tool_names)] == first.tool_names
        assert second.tool_names[len(first.tool_names)] == "invoice_send"
        found = second.tool_results()["s1"]["content"][0]["text"]
        assert found.splitlines()[0] == "invoice_send: Send an invoice to a customer."
        assert third.tool_results()["t1"]["content"][0]["text"] == "acted"
        await office.ask("again")
        assert office.provider.requests[3].tool_names == first.tool_names


async def test_searching_is_a_call_like_any_other(settings: Settings):
    async with open_office(settings, Turn(search("weather")), Turn(text("x"))) as office:
        office.add(*tools())
        await office.ask()
        calls = await office.service.archive.calls(office.session.id)
        assert [(call.tool_name, call.status) for call in calls] == [(SEARCH_TOOLS, "success")]
        assert office.watcher.about("s1")[-2:] == ["tool_call_started", "tool_call_completed"]


async def test_nothing_outside_the_agent_s_tools_can_be_found(settings: Settings):
    turns = [Turn(search("weather invoice deploy")), Turn(text("x"))]
    async with open_office(settings, *turns, agent_id="w") as office:
        office.add(*tools())
        profile = AgentProfile(
            id="w", max_visible_tools=1, tools={"weather_now": AgentTool(state="off")}
        )
        await office.runtime.agents.create(profile, actor="ann")
        await office.ask()
        found = office.provider.requests[1].tool_results()["s1"]["content"][0]["text"]
        assert "deploy_site" in found
        assert "weather_now" not in found


async def test_a_deferred_tool_called_by_its_name_works_and_is_shown_from_then_on(
    settings: Settings,
):
    turns = [Turn(tool_use("weather_now", {}, id="t1")), Turn(text("Sunny."))]
    async with open_office(settings, *turns) as office:
        office.add(*tools())
        await office.ask()
        first, second = office.provider.requests
        assert "weather_now" not in first.tool_names
        assert second.tool_results()["t1"]["content"][0]["text"] == "acted"
        assert second.tool_names[-1] == "weather_now"


async def test_tools_named_exactly_are_found_by_their_names_and_aliases(settings: Settings):
    turns = [Turn(search("select:deploy_site, shell, nope")), Turn(text("x"))]
    async with open_office(settings, *turns) as office:
        office.add(*tools())
        await office.ask()
        second = office.provider.requests[1]
        assert second.tool_names[-2:] == ["deploy_site", "bash"]


async def test_a_tool_that_is_shown_already_is_found_by_its_name(settings: Settings):
    turns = [Turn(search("select:search_tools")), Turn(text("x"))]
    async with open_office(settings, *turns) as office:
        office.add(*tools())
        await office.ask()
        first, second = office.provider.requests
        reported = second.tool_results()["s1"]["content"][0]["text"]
        assert reported.startswith("search_tools: Find more tools")
        assert second.tool_names == first.tool_names


async def test_a_search_that_finds_nothing_says_so(settings: Settings):
    async with open_office(settings, Turn(search("zzzz qqqq")), Turn(text("x"))) as office:
        office.add(*tools())
        await office.ask()
        reported = office.provider.requests[1].tool_results()["s1"]
        assert (reported["is_error"], reported["content"][0]["text"]) == (
            False,
            "No further tool matches 'zzzz qqqq'. Try other words.",
        )


async def test_few_tools_need_no_search(settings: Settings):
    roomy = settings.model_copy(update={"max_visible_tools": 100})
    async with open_office(roomy, Turn(text("x"))) as office:
        await office.ask()
        request = office.provider.requests[0]
        assert SEARCH_TOOLS not in request.tool_names
        assert "not listed" not in str(request.body["system"])
