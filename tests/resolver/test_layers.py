"""The layers of governance: which one decides, and that each tool has exactly one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.catalog.catalog import Catalog, PluginProblem
from app.catalog.registry import ToolRegistry
from app.governance.agents import AgentProfile, AgentTool, SubagentLimits
from app.governance.snapshot import GovernanceSnapshot, ToolsetState, ToolState
from app.resolver.layers import AccessSubject, Confinement, HostCapabilities
from app.resolver.reasons import LAYERS
from app.resolver.resolver import ResolvedToolset, project
from app.toolkit.tool import PermissionClass, Tool
from tests.execution.lab import AnyArgs, made

NAMES = list("abcdef")
TOOLSETS = ["one", "two"]


async def nothing(args: AnyArgs, ctx: Any) -> str:
    return ""


def a_tool(name: str, **options: Any) -> Tool:
    return made(nothing, name=name, **options)


def catalog(*tools: Tool) -> Catalog:
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    return registry.snapshot()


def governance(
    tools: Mapping[str, ToolState] | None = None,
    toolsets: Mapping[str, ToolsetState] | None = None,
) -> GovernanceSnapshot:
    return GovernanceSnapshot(
        1, MappingProxyType(dict(tools or {})), MappingProxyType(dict(toolsets or {}))
    )


def agent(**fields: Any) -> AccessSubject:
    profile = AgentProfile(id="writer", **fields)
    return AccessSubject("writer", profile)


def codes(answer: ResolvedToolset) -> dict[str, str]:
    return {name: reason.code for name, reason in answer.disabled_reasons.items()}


TOOLS = st.builds(
    a_tool,
    st.just("a"),
    toolset=st.sampled_from(TOOLSETS),
    core=st.booleans(),
    interactive=st.booleans(),
    subagent_allowed=st.booleans(),
    requires_confirmation=st.booleans(),
    permission=st.sampled_from(list(PermissionClass)),
    shell=st.sampled_from([None, "bash"]),
    requires=st.sampled_from([(), ("there",), ("missing",)]),
    platforms=st.sampled_from([(), ("linux",), ("win32",)]),
)
STATES = st.builds(
    ToolState,
    enabled=st.booleans(),
    requires_confirmation=st.none() | st.booleans(),
    prompt_hint=st.none() | st.just("hint"),
    is_core=st.none() | st.booleans(),
)
ENTRIES = st.sampled_from([*NAMES, "toolset:one", "nowhere", "toolset:nowhere"])
SELECTIONS = st.none() | st.lists(ENTRIES).map(tuple)
OVERRIDES = st.dictionaries(
    ENTRIES,
    st.builds(AgentTool, state=st.sampled_from([None, "on", "off", "ask"]), hint=st.none()),
)
PROFILES = st.builds(
    AgentProfile,
    id=st.just("writer"),
    selection=SELECTIONS,
    tools=OVERRIDES,
    max_visible_tools=st.none() | st.integers(1, 6),
    subagents=st.builds(
        SubagentLimits, selection=SELECTIONS, read_only=st.booleans(), no_shell=st.booleans()
    ),
)
VIEWERS = st.one_of(
    st.just(AccessSubject()),
    st.just(AccessSubject("nobody")),
    PROFILES.map(lambda profile: AccessSubject("writer", profile)),
    PROFILES.map(lambda profile: AccessSubject("writer", profile).as_subagent()),
)


@pytest.mark.requirement("GOV-09", "GOV-10", "GOV-12")
@given(
    st.lists(TOOLS, max_size=6),
    st.dictionaries(st.sampled_from([*NAMES, "lost"]), STATES),
    st.dictionaries(st.sampled_from(TOOLSETS), st.builds(ToolsetState, st.booleans())),
    VIEWERS,
)
def test_each_tool_has_a_name_or_a_reason_whatever_was_chosen(
    tools: list[Tool],
    states: dict[str, ToolState],
    toolsets: dict[str, ToolsetState],
    viewer: AccessSubject,
):
    shown = catalog(*(replace(tool, name=name) for tool, name in zip(tools, NAMES, strict=False)))
    host = HostCapabilities(has=lambda name: name == "there", platform="linux", max_visible=3)
    answer = project(shown, governance(states, toolsets), viewer, host)
    names, reasons = set(answer.tool_names), set(answer.disabled_reasons)
    assert names & reasons == set()
    assert names | reasons == set(shown.tools) | set(states)
    assert all(reason.message and reason.fix for reason in answer.disabled_reasons.values())
    assert {reason.code for reason in answer.disabled_reasons.values()} <= LAYERS.keys()
    assert answer.confirmation <= names
    rows = {row["name"]: row for row in answer.runtime_diagnostic["tools"]}
    assert rows.keys() == names | reasons
    for name, row in rows.items():
        assert (row["reason"] is None) is (name in names)
        assert row["effective_subagent_allowed"] is (row["runtime_blocked_reason"] is None)
    visible, deferred = set(answer.exposure.visible), set(answer.exposure.deferred)
    assert visible | deferred == names
    assert visible & deferred == set()


@pytest.mark.requirement("GOV-05")
@pytest.mark.parametrize("selection", [(), ("other",), ("toolset:files",)])
def test_a_core_tool_stays_available_whatever_an_agent_selects(selection: tuple[str, ...]):
    shown = catalog(a_tool("base", core=True), a_tool("other"), a_tool("third"))
    answer = project(shown, governance(), agent(selection=selection))
    assert "base" in answer.tool_names
    assert codes(answer)["third"] == "not_selected"


def test_the_operator_says_what_is_core():
    shown = catalog(a_tool("base", core=True), a_tool("other"))
    states = {"base": ToolState(is_core=False), "other": ToolState(is_core=True)}
    answer = project(shown, governance(states), agent(selection=()))
    assert answer.tool_names == ("other",)


@pytest.mark.requirement("GOV-06")
def test_an_override_shows_a_tool_to_one_agent_only():
    shown = catalog(a_tool("shared"), a_tool("special"))
    ours = agent(selection=("shared",), tools={"special": AgentTool(state="on")})
    theirs = AccessSubject("reader", AgentProfile(id="reader", selection=("shared",)))
    assert project(shown, governance(), ours).tool_names == ("shared", "special")
    assert codes(project(shown, governance(), theirs)) == {"special": "not_selected"}
    off = agent(tools={"special": AgentTool(state="off")})
    assert codes(project(shown, governance(), off)) == {"special": "disabled_agent"}


@pytest.mark.requirement("B-33")
@pytest.mark.parametrize("core", [True, False])
def test_no_agent_switches_on_what_is_off_for_everybody(*, core: bool):
    shown = catalog(a_tool("bash", core=core))
    viewer = agent(tools={"bash": AgentTool(state="on")})
    answer = project(shown, governance({"bash": ToolState(enabled=False)}), viewer)
    assert codes(answer) == {"bash": "disabled_global"}


def test_a_toolset_that_is_off_takes_its_tools_along():
    shown = catalog(a_tool("a", toolset="one"), a_tool("b", toolset="two"))
    answer = project(shown, governance(toolsets={"one": ToolsetState(enabled=False)}))
    assert answer.tool_names == ("b",)
    assert codes(answer) == {"a": "disabled_toolset"}


def test_an_agent_that_does_not_exist_may_use_nothing():
    answer = project(catalog(a_tool("a", core=True)), governance(), AccessSubject("ghost"))
    assert codes(answer) == {"a": "unknown_agent"}
    assert "'ghost'" in answer.disabled_reasons["a"].message


@pytest.mark.parametrize(
    ("options", "limits", "code"),
    [
        ({"interactive": True}, {}, "subagent_not_allowed"),
        ({"subagent_allowed": False}, {}, "subagent_not_allowed"),
        ({}, {"selection": ("b",)}, "subagent_not_allowed"),
        ({"permission": PermissionClass.WRITE}, {"read_only": True}, "subagent_read_only"),
        ({"shell": "bash"}, {"no_shell": True}, "subagent_no_shell"),
    ],
)
@pytest.mark.requirement("GOV-12")
def test_what_a_sub_agent_may_not_use_says_why_before_one_is_started(
    options: dict[str, Any], limits: dict[str, Any], code: str
):
    shown = catalog(a_tool("a", **options))
    viewer = agent(subagents=SubagentLimits(**limits))
    (row,) = project(shown, governance(), viewer).runtime_diagnostic["tools"]
    assert (row["state"], row["effective_subagent_allowed"]) == ("on", False)
    assert (row["worker_routing_hint"], row["runtime_blocked_reason"]["code"]) == (
        "worker-local",
        code,
    )
    assert codes(project(shown, governance(), viewer.as_subagent())) == {"a": code}


def test_what_is_not_configured_or_not_for_this_platform_says_so():
    shown = catalog(a_tool("a", requires=("search_key",)), a_tool("b", platforms=("win32",)))
    host = HostCapabilities(has=lambda _: False, platform="linux")
    answer = project(shown, governance(), AccessSubject(), host)
    assert codes(answer) == {"a": "missing_config", "b": "platform"}
    assert "search_key" in answer.disabled_reasons["a"].message


def test_a_lost_tool_is_distinguished_from_a_broken_plugin_s():
    states = {"gone": ToolState(present=False), "torn": ToolState(present=False, source="plugin")}
    broken = Catalog(
        1, {}, (PluginProblem("mine", "plugins/mine.py", "SyntaxError", "plugin_syntax"),)
    )
    assert codes(project(broken, governance(states))) == {
        "gone": "absent",
        "torn": "plugin_broken",
    }


@pytest.mark.parametrize(
    ("own", "operator", "override", "asks_by"),
    [
        (True, None, None, "tool"),
        (True, False, None, None),
        (True, False, "ask", "agent"),
        (False, True, "on", "operator"),
        (False, None, "ask", "agent"),
        (True, True, "ask", "operator"),
        (False, None, "on", None),
    ],
)
def test_an_agent_may_add_a_question_and_never_take_one_away(
    *, own: bool, operator: bool | None, override: Any, asks_by: str | None
):
    shown = catalog(a_tool("a", requires_confirmation=own))
    states = {"a": ToolState(requires_confirmation=operator)}
    answer = project(shown, governance(states), agent(tools={"a": AgentTool(state=override)}))
    setting = answer.states["a"]
    assert (setting.asks, setting.asks_by) == (asks_by is not None, asks_by)
    assert ("a" in answer.confirmation) is setting.asks


def test_the_agent_s_hint_stands_in_the_place_of_the_operator_s():
    shown = catalog(a_tool("a"), a_tool("b"))
    states = {name: ToolState(prompt_hint="for all") for name in "ab"}
    viewer = agent(tools={"a": AgentTool(hint="for me")})
    assert project(shown, governance(states), viewer).prompt_hints == {
        "a": "for me",
        "b": "for all",
    }


def test_the_operator_s_timeout_and_cap_stand_in_the_place_of_the_tool_s():
    shown = catalog(a_tool("a", timeout_s=5, max_output_chars=1000), a_tool("b", timeout_s=5))
    states = {"a": ToolState(timeout_s=60, max_output_chars=200)}
    settings = project(shown, governance(states)).states
    assert (settings["a"].timeout_s, settings["a"].max_output_chars) == (60, 200)
    assert (settings["b"].timeout_s, settings["b"].max_output_chars) == (5, None)


def offers(**levels: Confinement) -> HostCapabilities:
    return HostCapabilities(confinement=lambda level: levels.get(level, Confinement()))


def test_a_tool_whose_sandbox_is_missing_is_off_and_says_what_is_missing() -> None:
    tools = catalog(a_tool("a", sandbox="bash"), a_tool("b", sandbox="standard"), a_tool("c"))
    without = offers(bash=Confinement(available=False, why="this kernel cannot confine files"))

    answer = project(tools, governance(), host=without)

    assert answer.tool_names == ("b", "c")
    assert codes(answer) == {"a": "no_sandbox"}
    assert "this kernel cannot confine files" in answer.disabled_reasons["a"].message


def test_a_weak_sandbox_makes_every_call_ask_whatever_the_operator_said() -> None:
    tools = catalog(a_tool("a", sandbox="bash"), a_tool("b", sandbox="standard"))
    weak = offers(bash=Confinement(asks=True, why="no signal scope"))
    silenced = governance({"a": ToolState(requires_confirmation=False)})

    answer = project(tools, silenced, host=weak)

    assert answer.confirmation == {"a"}
    assert answer.states["a"].asks_by == "sandbox"
