"""What administrators decided about tools, as one immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ToolState:
    """An operator's choices for one tool; None leaves the tool's own value.

    Attributes:
        version: grows with every change, for optimistic locking.
    """

    enabled: bool = True
    requires_confirmation: bool | None = None
    prompt_hint: str | None = None
    version: int = 1


DEFAULT_STATE = ToolState()


@dataclass(frozen=True, slots=True)
class GovernanceSnapshot:
    """Swapped as a whole when something changes; the hot path reads it without a query."""

    generation: int = 0
    tools: Mapping[str, ToolState] = field(default_factory=lambda: MappingProxyType({}))

    def state(self, tool_name: str) -> ToolState:
        return self.tools.get(tool_name, DEFAULT_STATE)
