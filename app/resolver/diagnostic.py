"""One row per tool for operators, identical on every page."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.catalog.catalog import Catalog
from app.governance.snapshot import GovernanceSnapshot
from app.resolver.exposure import Exposure
from app.resolver.layers import AccessSubject, HostCapabilities, objection
from app.resolver.reasons import DisabledReason
from app.resolver.settings import ToolSetting
from app.toolkit.tool import Tool


def diagnose(
    catalog: Catalog,
    governance: GovernanceSnapshot,
    viewer: AccessSubject,
    host: HostCapabilities,
    reasons: Mapping[str, DisabledReason],
    states: Mapping[str, ToolSetting],
    exposure: Exposure,
) -> Mapping[str, Any]:
    """Return the inputs of a resolution, and a row for each tool."""
    rows = [
        _row(tool, governance, viewer, host, reasons.get(name), states[name], exposure)
        for name, tool in catalog.tools.items()
    ]
    rows += [_lost(name, reason) for name, reason in reasons.items() if name not in catalog.tools]
    enabled = sum(row["reason"] is None for row in rows)
    return MappingProxyType(
        {
            "catalog_generation": catalog.generation,
            "governance_generation": governance.generation,
            "agent_id": viewer.agent_id,
            "subagent": viewer.subagent is not None,
            "enabled": enabled,
            "disabled": len(rows) - enabled,
            "visible": len(exposure.visible),
            "deferred": len(exposure.deferred),
            "schema_tokens": exposure.visible_tokens,
            "schema_tokens_if_all_were_shown": sum(exposure.tokens.values()),
            "tools": rows,
        }
    )


def _row(
    tool: Tool,
    governance: GovernanceSnapshot,
    viewer: AccessSubject,
    host: HostCapabilities,
    reason: DisabledReason | None,
    setting: ToolSetting,
    exposure: Exposure,
) -> dict[str, Any]:
    as_subagent = viewer if viewer.subagent is not None else viewer.as_subagent()
    blocked = objection(tool, governance, as_subagent, host)
    return {
        "name": tool.name,
        "toolset": tool.toolset,
        "state": _state(reason, setting),
        "reason": reason.to_dict() if reason else None,
        "route": "disabled" if reason else tool.route,
        "core": setting.is_core,
        "asks": setting.asks,
        "asks_by": setting.asks_by,
        "hint": setting.hint,
        "timeout_s": setting.timeout_s,
        "max_output_chars": setting.max_output_chars,
        "limits": setting.limits.to_json(),
        "shown": _shown(tool.name, reason, exposure),
        "shown_as": exposure.definitions[tool.name]["name"] if reason is None else None,
        "tokens": exposure.tokens.get(tool.name),
        "effective_subagent_allowed": blocked is None,
        "worker_routing_hint": tool.routing_hint,
        "runtime_blocked_reason": blocked.to_dict() if blocked else None,
    }


def _lost(name: str, reason: DisabledReason) -> dict[str, Any]:
    """Return the row of a tool that the catalog no longer contains."""
    empty = dict.fromkeys(
        ("toolset", "asks_by", "hint", "timeout_s", "max_output_chars", "shown_as", "tokens")
    )
    return {
        **empty,
        "name": name,
        "state": "off",
        "reason": reason.to_dict(),
        "route": "disabled",
        "core": False,
        "asks": False,
        "limits": {},
        "shown": "no",
        "effective_subagent_allowed": False,
        "worker_routing_hint": "disabled",
        "runtime_blocked_reason": reason.to_dict(),
    }


def _state(reason: DisabledReason | None, setting: ToolSetting) -> str:
    if reason is not None:
        return "off"
    return "asks" if setting.asks else "on"


def _shown(name: str, reason: DisabledReason | None, exposure: Exposure) -> str:
    """Return `yes`, `no`, or `deferred`: found with `search_tools`."""
    if reason is not None:
        return "no"
    if name in exposure.deferred:
        return "deferred"
    return "yes" if name in exposure.visible else "no"
