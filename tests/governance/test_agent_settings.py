"""A profile's place among the settings."""

from __future__ import annotations

from app.core.origins import setting_fields
from app.core.settings import Settings
from app.governance.agent_settings import OF_PROFILE, decided_by
from app.governance.agents import AgentProfile, SubagentLimits

NO_SETTING_OF_THAT_MEANING = {"limits", "skills"}


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
        prompt_without=(),
        stronger_model="big",
        subagents=SubagentLimits(max_depth=2),
    )
    assert decided_by(profile) == {
        ("max_iterations",): 25,
        ("prompt_without",): (),
        ("escalation", "stronger_model"): "big",
        ("sub_agent", "max_depth"): 2,
    }


def test_one_way_to_think_takes_the_place_of_both_settings():
    adaptive = AgentProfile(id="default", adaptive_thinking=True)
    assert decided_by(adaptive) == {("thinking_budget",): 0, ("adaptive_thinking",): True}
    budget = AgentProfile(id="default", thinking_budget=4000)
    assert decided_by(budget) == {("thinking_budget",): 4000, ("adaptive_thinking",): False}
