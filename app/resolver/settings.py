"""Effective settings of one tool for one viewer: approval, timeout, output and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.governance.agents import AgentProfile
from app.governance.limits import NO_LIMITS, Limits
from app.governance.snapshot import ToolState
from app.toolkit.tool import Tool

AsksBy = Literal["tool", "operator", "agent", "sandbox"]


@dataclass(frozen=True, slots=True)
class ToolSetting:
    """Effective values.

    Attributes:
        asks: every call needs approval, regardless of arguments.
        asks_by: origin of the flag; only the tool's own can be lifted by a rule.
        timeout_s, max_output_chars: None for the service's default.
        limits: the operator's limits of this tool; the agent's are in its profile.
    """

    asks: bool = False
    asks_by: AsksBy | None = None
    timeout_s: float | None = None
    max_output_chars: int | None = None
    limits: Limits = NO_LIMITS
    is_core: bool = False
    hint: str | None = None


DEFAULT_SETTING = ToolSetting()


def setting_of(
    tool: Tool, state: ToolState, profile: AgentProfile | None, *, weak: bool = False
) -> ToolSetting:
    """Merge the settings: the operator's override the tool's; an agent may only add approval.

    Args:
        weak: the tool's processes would be less isolated than required.
    """
    override = profile.override(tool.name) if profile else None
    asks_by: AsksBy | None = None
    if weak:
        asks_by = "sandbox"
    elif state.requires_confirmation:
        asks_by = "operator"
    elif override is not None and override.state == "ask":
        asks_by = "agent"
    elif state.requires_confirmation is None and tool.requires_confirmation:
        asks_by = "tool"
    return ToolSetting(
        asks=asks_by is not None,
        asks_by=asks_by,
        timeout_s=tool.timeout_s if state.timeout_s is None else state.timeout_s,
        max_output_chars=(
            tool.max_output_chars if state.max_output_chars is None else state.max_output_chars
        ),
        limits=state.limits,
        is_core=tool.core if state.is_core is None else state.is_core,
        hint=(override.hint if override else None) or state.prompt_hint or None,
    )
