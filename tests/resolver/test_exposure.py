"""What of its tools a model is shown."""

from __future__ import annotations

from typing import Any

import pytest

from app.catalog.builtin import register_all_tools
from app.governance.agents import AgentProfile, AgentTool
from app.resolver.exposure import definitions_for
from app.resolver.layers import AccessSubject, HostCapabilities
from app.resolver.resolver import project
from app.toolkit.ports import SEARCH_TOOLS
from tests.resolver.test_layers import a_tool, agent, catalog, governance

FINDER = a_tool(SEARCH_TOOLS, core=True)


def many(count: int, *more: Any, **options: Any):
    return catalog(FINDER, *(a_tool(f"t{n}", **options) for n in range(count)), *more)


def test_few_tools_are_all_shown_and_searching_is_not():
    exposure = project(many(3), governance(), None, HostCapabilities(max_visible=3)).exposure
    assert (exposure.visible, exposure.deferred) == (("t0", "t1", "t2"), ())


def test_of_many_the_first_are_shown_with_a_way_to_the_rest():
    exposure = project(many(6), governance(), None, HostCapabilities(max_visible=3)).exposure
    assert exposure.visible == (SEARCH_TOOLS, "t0", "t1")
    assert exposure.deferred == ("t2", "t3", "t4", "t5")


def test_core_tools_and_what_the_operator_named_come_first():
    shown = many(5, a_tool("base", core=True))
    viewer = agent(
        max_visible_tools=4,
        selection=("t3", "toolset:general"),
        tools={"t4": AgentTool(state="ask")},
    )
    exposure = project(shown, governance(), viewer).exposure
    assert exposure.visible == (SEARCH_TOOLS, "t3", "t4", "base")


def test_without_a_way_to_find_the_rest_nothing_is_held_back():
    shown = catalog(*(a_tool(f"t{n}") for n in range(5)))
    exposure = project(shown, governance(), None, HostCapabilities(max_visible=2)).exposure
    assert (len(exposure.visible), exposure.deferred) == (5, ())


def test_what_was_found_is_appended_and_shown_once():
    exposure = project(many(6), governance(), None, HostCapabilities(max_visible=3)).exposure
    sent = [item["name"] for item in definitions_for(exposure, ("t5", "t0", "gone", "t5"))]
    assert sent == [SEARCH_TOOLS, "t0", "t1", "t5"]


@pytest.mark.requirement("D-21")
def test_holding_tools_back_makes_requests_smaller():
    shown = many(60)
    everything = project(shown, governance(), None, HostCapabilities(max_visible=1000)).exposure
    some = project(shown, governance(), None, HostCapabilities(max_visible=10)).exposure
    assert some.visible_tokens < everything.visible_tokens / 3


@pytest.mark.parametrize(
    ("family", "names"),
    [
        (None, {"bash", "read_file", "grep"}),
        ("claude", {"BashTool", "read_file", "GrepTool"}),
        ("nanoclaw", {"bash", "file_read", "grep"}),
        ("countbot", {"exec", "read_file", "grep"}),
    ],
)
def test_a_naming_profile_shows_tools_under_the_names_its_models_know(family: Any, names: set[str]):
    shown = register_all_tools(installed_plugins=False).snapshot()
    profile = AgentProfile(id="a", aliases=family, selection=("bash", "read_file", "grep"))
    exposure = project(shown, governance(), AccessSubject("a", profile)).exposure
    sent = definitions_for(exposure)
    assert {item["name"] for item in sent} == names
    assert all(shown.lookup(item["name"]) is not None for item in sent)
