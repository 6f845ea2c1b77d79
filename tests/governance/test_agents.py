"""Agents in the database.

A profile's place among the settings.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import ValidationError

from app.config.origins import setting_fields
from app.config.settings import Settings
from app.core.errors import AlreadyExists, NotFound, VersionMismatch
from app.governance.agents import OF_PROFILE, AgentProfile, AgentTool, SubagentLimits, decided_by
from app.governance.limits import Limits
from tests.execution.lab import Lab

FULL = AgentProfile(
    id="writer",
    title="Writes",
    model="m",
    system_prompt="You write.",
    max_iterations=3,
    max_tokens=100,
    selection=("grep", "toolset:files"),
    tools={"bash": AgentTool(state="ask", hint="carefully")},
    aliases="claude",
    unattended="suspend",
    limits=Limits(calls_per_minute=5, cost_per_session=0.5),
    max_visible_tools=7,
    subagents=SubagentLimits(selection=("grep",), read_only=True),
)

NO_SETTING_OF_THAT_MEANING = {"limits", "skills"}


async def test_a_profile_is_kept_whole_and_read_back(lab: Lab):
    made = await lab.runtime.agents.create(FULL, actor="ann")
    assert (made.profile, made.version) == (FULL, 1)
    await lab.runtime.governance.reload()
    assert lab.runtime.agents.get("writer") == FULL


def test_the_old_name_of_omitted_prompt_parts_is_read_as_the_new_one():
    old = {"id": "a", "prompt_without": ("todo",)}
    assert AgentProfile.model_validate(old).prompt_exclude == ("todo",)
    both = {**old, "prompt_exclude": ("todo",)}
    assert AgentProfile.model_validate(both).prompt_exclude == ("todo",)
    with pytest.raises(ValidationError, match="send only prompt_exclude"):
        AgentProfile.model_validate({**old, "prompt_exclude": ()})


def test_the_old_name_of_suspend_is_read_as_the_new_one():
    assert AgentProfile.model_validate({"id": "a", "unattended": "park"}).unattended == "suspend"


async def test_changes_grow_the_version_and_are_on_record_with_what_changed(lab: Lab):
    agents = lab.runtime.agents
    await agents.create(FULL, actor="ann")
    changed = await agents.change("writer", {"model": "n"}, actor="bob", expected=1)
    assert (changed.version, changed.profile.model) == (2, "n")
    with pytest.raises(VersionMismatch):
        await agents.change("writer", {"model": "o"}, actor="bob", expected=1)
    await agents.remove("writer", actor="bob", expected=2)
    rows = await lab.rows("SELECT actor, detail FROM audit WHERE kind = 'governance.agent'")
    reported = [(actor, json.loads(detail)) for actor, detail in rows]
    assert [actor for actor, _ in reported] == ["ann", "bob", "bob"]
    assert reported[1][1] == {"before": {"model": "m"}, "after": {"model": "n"}}
    assert set(reported[2][1]) == {"before"}


async def test_an_override_is_put_and_taken_back(lab: Lab):
    agents = lab.runtime.agents
    await agents.create(AgentProfile(id="a"), actor="ann")
    await agents.override("a", "bash", AgentTool(state="off"), actor="ann")
    await agents.switch("a", ["bash", "grep"], state="on", actor="ann")
    assert agents.require("a").profile.tools == {
        "bash": AgentTool(state="on"),
        "grep": AgentTool(state="on"),
    }
    stored = await agents.override("a", "bash", AgentTool(), actor="ann")
    assert stored.profile.tools == {"grep": AgentTool(state="on")}


async def test_switching_on_takes_no_question_away(lab: Lab):
    agents = lab.runtime.agents
    await agents.create(AgentProfile(id="a", tools={"bash": AgentTool(state="ask")}), actor="ann")
    await agents.switch("a", ["bash"], state="on", actor="ann")
    assert agents.require("a").profile.tools == {"bash": AgentTool(state="ask")}


async def test_two_changes_at_once_are_both_kept(lab: Lab):
    agents = lab.runtime.agents
    await agents.create(AgentProfile(id="a"), actor="ann")
    names = [f"tool{number}" for number in range(20)]
    await asyncio.gather(
        *(agents.override("a", name, AgentTool(state="off"), actor="ann") for name in names)
    )
    assert sorted(agents.require("a").profile.tools) == sorted(names)


async def test_ids_differ_in_more_than_case(lab: Lab):
    await lab.runtime.agents.create(AgentProfile(id="writer"), actor="ann")
    with pytest.raises(AlreadyExists, match="'writer'"):
        await lab.runtime.agents.create(AgentProfile(id="Writer"), actor="ann")


async def test_an_unknown_agent_is_reported_with_those_that_there_are(lab: Lab):
    with pytest.raises(NotFound, match="No agent has been created yet"):
        lab.runtime.agents.require("ghost")
    await lab.runtime.agents.create(AgentProfile(id="writer"), actor="ann")
    with pytest.raises(NotFound, match="Existing agents: writer"):
        await lab.runtime.agents.remove("ghost", actor="ann")


async def test_a_row_that_cannot_be_read_is_no_agent_and_can_be_removed(lab: Lab):
    await lab.runtime.agents.create(AgentProfile(id="writer"), actor="ann")
    await lab.runtime.db.transact(
        lambda t: t.execute("UPDATE agents SET profile = '{\"model\": 7}'")
    )
    await lab.runtime.governance.reload()
    assert lab.runtime.agents.get("writer") is None
    assert lab.runtime.resolver.resolve("writer").tool_names == ()
    with pytest.raises(AlreadyExists):
        await lab.runtime.agents.create(AgentProfile(id="writer"), actor="ann")
    await lab.runtime.agents.remove("writer", actor="ann")
    await lab.runtime.agents.create(AgentProfile(id="writer"), actor="ann")


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "bad id"},
        {"selection": ["toolset:"]},
        {"selection": "grep"},
        {"tools": {"bash": {"state": "maybe"}}},
        {"max_iterations": "3"},
        {"max_iterations": 0},
        {"limits": {"calls_per_minute": -1}},
        {"limits": {"nonsense": 1}},
        {"unattended": "approve"},
        {"aliases": "klingon"},
        {"unknown": 1},
    ],
)
def test_a_profile_that_does_not_fit_is_refused(fields: dict[str, Any]):
    with pytest.raises(ValidationError):
        AgentProfile.model_validate({"id": "a", **fields})


def test_every_field_that_a_setting_has_too_is_known():
    settings = {path for path, _ in setting_fields(Settings)}
    assert set(OF_PROFILE) <= settings
    sections = {path[0] for path in settings}
    shared = (sections & set(AgentProfile.model_fields)) - NO_SETTING_OF_THAT_MEANING
    assert shared <= {path[0] for path in OF_PROFILE}


def test_what_the_profile_leaves_open_is_the_settings():
    assert decided_by(None) == {}
    assert decided_by(AgentProfile(id="default", system_prompt="Be brief.")) == {}


def test_what_the_profile_decides_is_reported_with_its_value():
    profile = AgentProfile(
        id="default",
        max_iterations=25,
        prompt_exclude=(),
        stronger_model="big",
        subagents=SubagentLimits(max_depth=2),
    )
    assert decided_by(profile) == {
        ("max_iterations",): 25,
        ("prompt_exclude",): (),
        ("escalation", "stronger_model"): "big",
        ("sub_agent", "max_depth"): 2,
    }


def test_one_way_to_think_takes_the_place_of_both_settings():
    adaptive = AgentProfile(id="default", adaptive_thinking=True)
    assert decided_by(adaptive) == {("thinking_budget",): 0, ("adaptive_thinking",): True}
    budget = AgentProfile(id="default", thinking_budget=4000)
    assert decided_by(budget) == {("thinking_budget",): 4000, ("adaptive_thinking",): False}
