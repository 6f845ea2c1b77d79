"""Resolution of catalog and governance to the tools of one caller, with reasons for the others.

Every reader (prompt, REST, executor, worker) uses this projection; none decides on its own. It is
rebuilt when the catalog or a setting changes, not per call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from app.catalog.catalog import Catalog
from app.catalog.registry import ToolRegistry
from app.governance.agents import AgentProfile, SubagentScope
from app.governance.identity.token_rules import DEFAULT_AGENT
from app.governance.snapshot import GovernanceSnapshot
from app.governance.tool_settings import ToolSettingsRepository
from app.resolver.diagnostic import diagnose
from app.resolver.exposure import Exposure, expose
from app.resolver.layers import AccessSubject, HostCapabilities, gone, objection
from app.resolver.reasons import DisabledReason as DisabledReason  # noqa: PLC0414 - part of the answer
from app.resolver.settings import ToolSetting, setting_of
from app.toolkit.tool import Tool

RouteName = Literal["worker-local", "main-process-proxy", "disabled"]
MAX_ANSWERS = 512
NO_EXPOSURE = Exposure()


@dataclass(frozen=True, slots=True)
class ResolvedToolset:
    """Result of a resolution. Each catalog tool is in `tool_names` or in `disabled_reasons`.

    Attributes:
        routes: process type in which a sub-agent's calls of each tool run.
        disabled_reasons: includes tools known to the operator and missing in the catalog.
        confirmation: tools whose every call needs approval, by a flag of the operator, agent or
            tool.
        runtime_diagnostic: one row per tool, for all admin pages.
        states: effective settings of every tool of the catalog.
        agent: profile of the agent.
        exposure: tools shown to the model, with their names.
    """

    tool_names: tuple[str, ...]
    prompt_hints: Mapping[str, str]
    manifest: tuple[dict[str, Any], ...]
    routes: Mapping[str, RouteName]
    disabled_reasons: Mapping[str, DisabledReason]
    confirmation: frozenset[str]
    runtime_diagnostic: Mapping[str, Any]
    states: Mapping[str, ToolSetting] = field(default_factory=lambda: MappingProxyType({}))
    agent: AgentProfile | None = None
    exposure: Exposure = NO_EXPOSURE


class Resolver:
    """Resolver for the current catalog and governance, cached until either changes."""

    def __init__(
        self,
        registry: ToolRegistry,
        governance: ToolSettingsRepository,
        host: HostCapabilities | None = None,
    ) -> None:
        self._registry = registry
        self._governance = governance
        self._host = host or HostCapabilities()
        self._from_catalog: Catalog | None = None
        self._from_governance: GovernanceSnapshot | None = None
        self._answers: dict[tuple[str | None, SubagentScope | None], ResolvedToolset] = {}

    def resolve(
        self, agent_id: str | None = None, *, subagent: SubagentScope | None = None
    ) -> ResolvedToolset:
        """Return the current toolset; a dictionary lookup if nothing has changed.

        An unknown agent may use nothing. Callers without an agent use the agent `default`, if it
        exists.

        Args:
            subagent: rights given to a sub-agent; None for the agent itself.
        """
        catalog, governance = self._registry.snapshot(), self._governance.snapshot
        if catalog is not self._from_catalog or governance is not self._from_governance:
            self._answers = {}
            self._from_catalog, self._from_governance = catalog, governance
        answer = self._answers.get((agent_id, subagent))
        if answer is None:
            answer = self._project(catalog, governance, agent_id, subagent=subagent)
            # Names of unknown agents must not fill the memory.
            if len(self._answers) >= MAX_ANSWERS:
                self._answers.clear()
            self._answers[agent_id, subagent] = answer
        return answer

    def forget(self) -> None:
        """Discard all cached results, because requirements of tools have changed."""
        self._answers = {}

    def _project(
        self,
        catalog: Catalog,
        governance: GovernanceSnapshot,
        agent_id: str | None,
        *,
        subagent: SubagentScope | None,
    ) -> ResolvedToolset:
        stored = governance.agents.get(DEFAULT_AGENT if agent_id is None else agent_id)
        viewer = AccessSubject(agent_id, stored.profile if stored else None)
        if subagent is not None:
            viewer = viewer.as_subagent(subagent)
        return project(catalog, governance, viewer, self._host)


def project(
    catalog: Catalog,
    governance: GovernanceSnapshot,
    viewer: AccessSubject | None = None,
    host: HostCapabilities | None = None,
) -> ResolvedToolset:
    """Compute the toolset."""
    viewer, host = viewer or AccessSubject(), host or HostCapabilities()
    reasons: dict[str, DisabledReason] = {}
    routes: dict[str, RouteName] = {}
    for name, tool in catalog.tools.items():
        reason = objection(tool, governance, viewer, host)
        routes[name] = "disabled" if reason else tool.route
        if reason is not None:
            reasons[name] = reason
    states = {
        name: setting_of(tool, governance.state(name), viewer.profile, weak=_is_weak(tool, host))
        for name, tool in catalog.tools.items()
    }
    names = tuple(name for name in catalog.tools if name not in reasons)
    reasons |= gone(catalog, governance)
    exposure = expose(catalog, names, states, viewer.profile, host.max_visible)
    return ResolvedToolset(
        names,
        MappingProxyType({name: hint for name in names if (hint := states[name].hint)}),
        tuple(catalog.tools[name].manifest() for name in names),
        MappingProxyType(routes),
        MappingProxyType(reasons),
        frozenset(name for name in names if states[name].asks),
        diagnose(catalog, governance, viewer, host, reasons, states, exposure),
        MappingProxyType(states),
        viewer.profile,
        exposure,
    )


def _is_weak(tool: Tool, host: HostCapabilities) -> bool:
    return tool.sandbox is not None and host.confinement(tool.sandbox).asks
