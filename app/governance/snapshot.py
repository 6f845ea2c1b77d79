"""Governance of tools and agents as one immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from app.governance.agents import StoredAgent
from app.governance.limits import NO_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class ToolState:
    """An operator's choices for one tool; None leaves the tool's own value.

    Attributes:
        version: incremented by every change, for optimistic locking.
        present: the catalog contained the tool at the last sync.
        source, toolset: origin of the tool, known even after its removal.
    """

    enabled: bool = True
    requires_confirmation: bool | None = None
    prompt_hint: str | None = None
    version: int = 1
    is_core: bool | None = None
    timeout_s: float | None = None
    max_output_chars: int | None = None
    limits: Limits = NO_LIMITS
    present: bool = True
    source: str = "builtin"
    toolset: str = "general"


@dataclass(frozen=True, slots=True)
class ToolsetState:
    """Switch of a whole toolset; without a row it is on."""

    enabled: bool = True
    version: int = 1


DEFAULT_STATE = ToolState()
DEFAULT_TOOLSET = ToolsetState()


@dataclass(frozen=True, slots=True)
class GovernanceSnapshot:
    """Replaced as a whole on every change; the hot path reads it without a query."""

    generation: int = 0
    tools: Mapping[str, ToolState] = field(default_factory=lambda: MappingProxyType({}))
    toolsets: Mapping[str, ToolsetState] = field(default_factory=lambda: MappingProxyType({}))
    agents: Mapping[str, StoredAgent] = field(default_factory=lambda: MappingProxyType({}))

    def state(self, tool_name: str) -> ToolState:
        return self.tools.get(tool_name, DEFAULT_STATE)

    def toolset(self, name: str) -> ToolsetState:
        return self.toolsets.get(name, DEFAULT_TOOLSET)
