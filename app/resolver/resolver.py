"""Catalog + governance → what one caller may use, and why not the rest.

Every reader (prompt, REST, executor, worker) uses this projection; none decides on
its own. It is rebuilt when the catalog or a choice changes, not per call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from app.catalog.catalog import Catalog
from app.governance.snapshot import GovernanceSnapshot

RouteName = Literal["worker-local", "main-process-proxy", "disabled"]


@dataclass(frozen=True, slots=True)
class DisabledReason:
    """Why a tool is missing: a machine code and a sentence."""

    code: str
    message: str

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class ResolvedToolset:
    """The resolver's answer. Each catalog tool is in `tool_names` or in `disabled_reasons`.

    Attributes:
        routes: where a sub-agent's call of each tool would run.
        confirmation: tools whose every call asks, by the operator's flag or their own.
        runtime_diagnostic: what built this answer, for the admin pages.
    """

    tool_names: tuple[str, ...]
    prompt_hints: Mapping[str, str]
    manifest: tuple[dict[str, Any], ...]
    routes: Mapping[str, RouteName]
    disabled_reasons: Mapping[str, DisabledReason]
    confirmation: frozenset[str]
    runtime_diagnostic: Mapping[str, Any]


class Resolver:
    """Answers from the current catalog and governance, cached until either changes."""

    def __init__(
        self, catalog: Callable[[], Catalog], governance: Callable[[], GovernanceSnapshot]
    ) -> None:
        self._catalog = catalog
        self._governance = governance
        self._built_from: tuple[Catalog, GovernanceSnapshot] | None = None
        self._answer: ResolvedToolset | None = None

    def resolve(self) -> ResolvedToolset:
        """The toolset of this moment; two attribute reads when nothing has changed."""
        catalog, governance = self._catalog(), self._governance()
        built = self._built_from
        if (
            self._answer is None
            or built is None
            or built[0] is not catalog
            or built[1] is not governance
        ):
            self._answer = project(catalog, governance)
            self._built_from = (catalog, governance)
        return self._answer


def project(catalog: Catalog, governance: GovernanceSnapshot) -> ResolvedToolset:
    """Compute the answer."""
    names: list[str] = []
    hints: dict[str, str] = {}
    manifest: list[dict[str, Any]] = []
    routes: dict[str, RouteName] = {}
    reasons: dict[str, DisabledReason] = {}
    confirmation: set[str] = set()
    for name, tool in catalog.tools.items():
        state = governance.state(name)
        if not state.enabled:
            reasons[name] = DisabledReason(
                "disabled_global", f"An administrator has switched {name!r} off"
            )
            routes[name] = "disabled"
            continue
        names.append(name)
        manifest.append(tool.manifest())
        routes[name] = tool.routing_hint
        if state.prompt_hint:
            hints[name] = state.prompt_hint
        flag = state.requires_confirmation
        if tool.requires_confirmation if flag is None else flag:
            confirmation.add(name)
    diagnostic = {
        "catalog_generation": catalog.generation,
        "governance_generation": governance.generation,
        "enabled": len(names),
        "disabled": len(reasons),
    }
    return ResolvedToolset(
        tuple(names),
        MappingProxyType(hints),
        tuple(manifest),
        MappingProxyType(routes),
        MappingProxyType(reasons),
        frozenset(confirmation),
        MappingProxyType(diagnostic),
    )
