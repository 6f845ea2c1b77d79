"""Settings that an agent's profile overrides, from its next turn."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.core.origins import SettingPath
from app.governance.agents import AgentProfile

# Profile field by setting.
OF_PROFILE: Mapping[SettingPath, str] = MappingProxyType(
    {
        **{
            (name,): name
            for name in (
                *("model", "max_iterations", "max_tokens", "context_tokens", "temperature"),
                *("thinking_budget", "adaptive_thinking", "effort", "prompt_without"),
                *("unattended", "max_visible_tools"),
            )
        },
        ("escalation", "stronger_model"): "stronger_model",
        ("sub_agent", "max_depth"): "subagents.max_depth",
    }
)
# Choosing one of these also discards the settings' value of the other.
_THINKING: Mapping[SettingPath, Any] = MappingProxyType(
    {("thinking_budget",): 0, ("adaptive_thinking",): False}
)


def decided_by(profile: AgentProfile | None) -> dict[SettingPath, Any]:
    """Return the settings that the profile overrides, with its values."""
    if profile is None:
        return {}
    data = {path: _field(profile, name) for path, name in OF_PROFILE.items()}
    found = {path: value for path, value in data.items() if value is not None}
    if not found.keys().isdisjoint(_THINKING):
        found = {**_THINKING, **found}
    return found


def _field(profile: AgentProfile, name: str) -> Any:
    value: Any = profile
    for part in name.split("."):
        value = getattr(value, part)
    return value
