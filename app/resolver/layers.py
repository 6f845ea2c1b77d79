"""Layers of governance, in order: the first objection gives the reason."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from app.catalog.catalog import Catalog
from app.governance.agents import AgentProfile, SubagentLimits, SubagentScope, selected
from app.governance.snapshot import GovernanceSnapshot, ToolState
from app.operations.protocols.sandbox import Level
from app.resolver import reasons
from app.resolver.reasons import DisabledReason
from app.toolkit.tool import Tool

NO_LIMITS_FOR_SUBAGENTS = SubagentLimits()
WHOLE_SCOPE = SubagentScope()
MAX_VISIBLE = 40


def _everything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Confinement:
    """Isolation that the sandbox of this machine offers at one level.

    Attributes:
        asks: the isolation is weaker than required, and the operator allows it with approval.
        why: what is missing, for people; empty if nothing is.
    """

    available: bool = True
    asks: bool = False
    why: str = ""


CONFINED = Confinement()


def _confined(_: Level) -> Confinement:
    return CONFINED


@dataclass(frozen=True, slots=True)
class HostCapabilities:
    """Capabilities of the installation.

    Attributes:
        has: returns whether a required service or setting is available.
        confinement: returns the sandbox's isolation at a required level.
        finds: returns whether a program is on the commands' path.
        platform: as `sys.platform`.
        max_visible: default maximum of tools shown to a model.
    """

    has: Callable[[str], bool] = _everything
    confinement: Callable[[Level], Confinement] = _confined
    finds: Callable[[str], bool] = _everything
    platform: str = sys.platform
    max_visible: int = MAX_VISIBLE


@dataclass(frozen=True, slots=True)
class AccessSubject:
    """Subject of a resolution.

    Attributes:
        agent_id: None for a caller without an agent, which has no selection and no overrides.
        profile: profile of the agent; None with an `agent_id` means that the agent does not exist.
        subagent: limits of a sub-agent; None for the agent itself.
        scope: the part of them given to this sub-agent.
    """

    agent_id: str | None = None
    profile: AgentProfile | None = None
    subagent: SubagentLimits | None = None
    scope: SubagentScope = WHOLE_SCOPE

    def as_subagent(self, scope: SubagentScope = WHOLE_SCOPE) -> AccessSubject:
        limits = self.profile.subagents if self.profile else NO_LIMITS_FOR_SUBAGENTS
        return AccessSubject(self.agent_id, self.profile, limits, scope)


@dataclass(frozen=True, slots=True)
class _AccessQuery:
    """Query whether a subject may use a tool."""

    tool: Tool
    state: ToolState
    governance: GovernanceSnapshot
    viewer: AccessSubject
    host: HostCapabilities

    @property
    def is_core(self) -> bool:
        own = self.state.is_core
        return self.tool.core if own is None else own


def objection(
    tool: Tool, governance: GovernanceSnapshot, viewer: AccessSubject, host: HostCapabilities
) -> DisabledReason | None:
    """Return why this viewer may not use the tool, or None."""
    question = _AccessQuery(tool, governance.state(tool.name), governance, viewer, host)
    for layer in _LAYERS:
        reason = layer(question)
        if reason is not None:
            return reason
    return None


def gone(catalog: Catalog, governance: GovernanceSnapshot) -> dict[str, DisabledReason]:
    """Return tools known to the operator that the catalog no longer contains."""
    broken = sorted({problem.name for problem in catalog.problems})
    return {
        name: reasons.plugin_broken(name, broken)
        if broken and state.source in ("plugin", "external")
        else reasons.absent(name)
        for name, state in governance.tools.items()
        if name not in catalog.tools
    }


def _agent_exists(question: _AccessQuery) -> DisabledReason | None:
    viewer = question.viewer
    if viewer.agent_id is None or viewer.profile is not None:
        return None
    return reasons.unknown_agent(viewer.agent_id)


def _switched_on(question: _AccessQuery) -> DisabledReason | None:
    tool = question.tool
    if not question.state.enabled:
        return reasons.disabled_global(tool.name)
    if not question.governance.toolset(tool.toolset).enabled:
        return reasons.disabled_toolset(tool.name, tool.toolset)
    return None


def _selected(question: _AccessQuery) -> DisabledReason | None:
    """Core tools need no selection; only the agent's own `off` removes them."""
    profile, tool = question.viewer.profile, question.tool
    if profile is None:
        return None
    if not question.is_core and not profile.selects(tool.name, tool.toolset):
        return reasons.not_selected(tool.name, profile.id)
    if profile.override(tool.name).state == "off":
        return reasons.disabled_agent(tool.name, profile.id)
    return None


def _for_subagents(question: _AccessQuery) -> DisabledReason | None:
    limits, tool, scope = question.viewer.subagent, question.tool, question.viewer.scope
    if limits is None:
        return None
    if tool.interactive:
        return reasons.subagent_not_allowed(tool.name, interactive=True)
    chosen = question.is_core or selected(limits.selection, tool.name, tool.toolset)
    if not tool.subagent_allowed or not chosen:
        return reasons.subagent_not_allowed(tool.name, interactive=False)
    if tool.delegates and not scope.may_delegate:
        return reasons.subagent_depth(tool.name)
    if scope.allowed is not None and tool.name not in scope.allowed:
        return reasons.subagent_not_given(tool.name)
    if (limits.read_only or scope.read_only) and tool.has_side_effects:
        return reasons.subagent_read_only(tool.name, asked=not limits.read_only)
    if (limits.no_shell or scope.no_shell) and tool.shell is not None:
        return reasons.subagent_no_shell(tool.name, asked=not limits.no_shell)
    return None


def _configured(question: _AccessQuery) -> DisabledReason | None:
    tool = question.tool
    missing = [name for name in tool.requires if not question.host.has(name)]
    return reasons.missing_config(tool.name, missing) if missing else None


def _installed(question: _AccessQuery) -> DisabledReason | None:
    tool = question.tool
    missing = [name for name in tool.programs if not question.host.finds(name)]
    return reasons.missing_program(tool.name, missing) if missing else None


def _on_platform(question: _AccessQuery) -> DisabledReason | None:
    tool, platform = question.tool, question.host.platform
    if not tool.platforms or platform.startswith(tool.platforms):
        return None
    return reasons.wrong_platform(tool.name, platform, tool.platforms)


def _in_sandbox(question: _AccessQuery) -> DisabledReason | None:
    tool = question.tool
    if tool.sandbox is None:
        return None
    found = question.host.confinement(tool.sandbox)
    return None if found.available else reasons.no_sandbox(tool.name, found.why)


_LAYERS: tuple[Callable[[_AccessQuery], DisabledReason | None], ...] = (
    _agent_exists,
    _switched_on,
    _selected,
    _for_subagents,
    _configured,
    _on_platform,
    _installed,
    _in_sandbox,
)
