"""Effective state of a tool, in the same format for the tools page and an agent's page."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from app.api.rest.examples import example

REASON: dict[str, Any] = {
    "code": "disabled_global",
    "message": "Tool 'bash' is disabled by an administrator",
    "layer": "global",
    "fix": "`tollgate tools enable bash`",
}
ROW: dict[str, Any] = {
    "name": "bash",
    "toolset": "shell",
    "state": "off",
    "reason": REASON,
    "route": "disabled",
    "core": False,
    "asks": False,
    "asks_by": None,
    "hint": None,
    "timeout_s": 600,
    "max_output_chars": None,
    "limits": {},
    "shown": "no",
    "shown_as": None,
    "tokens": None,
    "effective_subagent_allowed": False,
    "worker_routing_hint": "main-process-proxy",
    "runtime_blocked_reason": REASON,
}
DIAGNOSTIC: dict[str, Any] = {
    "catalog_generation": 3,
    "governance_generation": 2,
    "agent_id": None,
    "subagent": False,
    "enabled": 11,
    "disabled": 1,
    "visible": 11,
    "deferred": 0,
    "schema_tokens": 2200,
    "schema_tokens_if_all_were_shown": 2200,
    "tools": [ROW],
}


class Reason(BaseModel):
    """Reason why a tool is unavailable."""

    model_config = example(**REASON)

    code: str = Field(description="Stable code for clients to match on.")
    message: str
    layer: str = Field(description="Governance layer that decided.")
    fix: str = Field(description="How to enable it.")


class Diagnostic(BaseModel):
    """Effective state of one tool, with its reason."""

    model_config = example(**ROW)

    name: str
    toolset: str | None
    state: Literal["on", "asks", "off"]
    reason: Reason | None = Field(description="Null if the tool is available.")
    route: str = Field(description="`worker-local`, `main-process-proxy` or `disabled`.")
    core: bool = Field(description="Available to agents without selecting it by name.")
    asks: bool = Field(description="Every call requires approval, whatever its arguments.")
    asks_by: Literal["tool", "operator", "agent", "sandbox"] | None
    hint: str | None
    timeout_s: float | None = Field(description="Null for the service's default.")
    max_output_chars: int | None = Field(description="Null for the service's default.")
    limits: dict[str, int | float]
    shown: Literal["yes", "no", "deferred"] = Field(
        description="Whether a model sees it, or finds it with `search_tools`."
    )
    shown_as: str | None = Field(description="Name shown to the model.")
    tokens: int | None = Field(description="Estimated tokens of its definition in each request.")
    effective_subagent_allowed: bool = Field(description="Whether a sub-agent could call it.")
    worker_routing_hint: str = Field(description="Where a worker would run its call.")
    runtime_blocked_reason: Reason | None = Field(description="Why a sub-agent cannot use it.")


class RuntimeDiagnostic(BaseModel):
    """Inputs of a resolver response, with a row for each tool."""

    model_config = example(**DIAGNOSTIC)

    catalog_generation: int
    governance_generation: int
    agent_id: str | None
    subagent: bool
    enabled: int
    disabled: int
    visible: int
    deferred: int
    schema_tokens: int
    schema_tokens_if_all_were_shown: int
    tools: list[Diagnostic]
