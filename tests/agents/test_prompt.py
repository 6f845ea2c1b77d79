"""What a model is told before the first message."""

from __future__ import annotations

import pytest

from app.agents.prompt.builder import build_prompt
from app.agents.prompt.facts import Facts
from app.catalog.builtin import register_all_tools
from app.governance.agents import AgentTool
from app.governance.snapshot import ToolState
from app.resolver.layers import HostCapabilities
from app.resolver.resolver import project
from app.toolkit.ports import SEARCH_TOOLS
from tests.resolver.test_layers import a_tool, agent, catalog, governance

HINTS = {name: ToolState(prompt_hint=f"about {name}") for name in ("a", "b", "c")}


@pytest.mark.requirement("GOV-07")
def test_hints_are_for_tools_of_the_resolved_set_only():
    shown = catalog(a_tool("a"), a_tool("b"))
    toolset = project(shown, governance(HINTS), agent(tools={"b": AgentTool(state="off")}))
    prompt = build_prompt(toolset).system
    assert "- a: about a" in prompt
    assert "about b" not in prompt
    assert "about c" not in prompt


def test_the_hint_of_a_tool_that_is_not_shown_comes_when_it_is_found():
    shown = catalog(a_tool(SEARCH_TOOLS, core=True), a_tool("a"), a_tool("b"), a_tool("c"))
    toolset = project(shown, governance(HINTS), None, HostCapabilities(max_visible=2))
    assert toolset.exposure.visible == (SEARCH_TOOLS, "a")
    before = build_prompt(toolset).system
    after = build_prompt(toolset, found=["c"]).system
    assert ("about c" in before, "about c" in after) == (False, True)
    assert ("More tools (2)" in before, "More tools (1)" in after) == (True, True)


def test_the_agent_s_own_words_follow_the_rules_of_the_house():
    toolset = project(catalog(a_tool("a")), governance(), agent(system_prompt="You are a poet."))
    prompt = build_prompt(toolset, Facts(root="/workspace")).system
    assert prompt.index("declined") < prompt.index("You are a poet.") < prompt.index("/workspace")


def test_a_hint_names_a_tool_as_the_model_sees_it():
    shown = register_all_tools(installed_plugins=False).snapshot()
    viewer = agent(aliases="claude", tools={"bash": AgentTool(hint="be careful")})
    toolset = project(shown, governance(), viewer)
    assert "- BashTool: be careful" in build_prompt(toolset).system
